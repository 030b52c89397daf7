// The front end's pure functions against the results that Python wrote to the file named in CASES.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const stage = await import(process.env.STAGE);
const cases = JSON.parse(readFileSync(process.env.CASES, "utf8"));

test("words and numbers are written alike", () => {
  for (const { template, values, expected } of cases.fill) assert.equal(stage.fill(template, values), expected);
  for (const { part, whole, expected } of cases.percent) assert.equal(stage.percent(part, whole), expected);
  for (const { value, digits, expected } of cases.decimal) assert.equal(stage.decimal(value, digits), expected);
});

test("random words are the same bits", () => {
  for (const { seed, counter, expected } of cases.hashed) assert.equal(stage.hashed(seed, counter), expected);
  for (const { seed, expected } of cases.documents) assert.equal(stage.randomDocuments(seed), expected);
});

test("packing: picture and words agree", () => {
  assert.ok(cases.packing.length >= 200);
  for (const { params, payload } of cases.packing) {
    const d = stage.describePacking(params, cases.text.packing);
    const where = JSON.stringify(params);
    for (const name of ["doc", "offset", "eos", "position", "keep", "codes"]) {
      assert.deepEqual(d.view[name], payload.arrays[name], `${name} for ${where}`);
    }
    for (const name of ["readout", "caption", "alt", "numbers", "grid", "problems"]) {
      assert.deepEqual(d[name], payload[name], `${name} for ${where}`);
    }
    assert.equal(d.gridCaption, payload.grid_caption);
    assert.equal(d.perToken, payload.scalars.per_token);
    assert.equal(d.ofMeans, payload.scalars.of_means);
    assert.equal(d.letters.join(""), payload.scalars.letters);
  }
});

test("waste: picture and words agree", () => {
  assert.ok(cases.waste.length >= 60);
  for (const { params, payload } of cases.waste) {
    const d = stage.describeWaste(params, cases.text.waste);
    const where = JSON.stringify(params);
    for (const name of ["readout", "caption", "alt", "numbers", "grid", "problems"]) {
      assert.deepEqual(d[name], payload[name], `${name} for ${where}`);
    }
    assert.deepEqual(d.histogram, payload.arrays.histogram, where);
    d.shares.forEach((shares, r) =>
      shares.forEach((share, k) => assert.equal(Math.fround(share), payload.arrays.shares[k][r], where)),
    );
    d.here.forEach((share, k) => assert.equal(Math.fround(share), payload.arrays.here[k], where));
  }
});

test("denominator: picture and words agree", () => {
  assert.ok(cases.denominator.length >= 60);
  for (const { params, payload } of cases.denominator) {
    const d = stage.describeDenominator(params, cases.text.denominator);
    for (const name of ["readout", "caption", "alt", "numbers", "grid", "problems"]) {
      assert.deepEqual(d[name], payload[name], `${name} for ${JSON.stringify(params)}`);
    }
    assert.deepEqual(d.weights, payload.arrays.weights);
    assert.deepEqual(d.means, payload.arrays.means);
  }
});

test("numbers from the keyboard are moved into their limits alike", () => {
  for (const { control, value, expected } of cases.clamped) assert.equal(stage.clampNumber(control, value), expected);
});

test("a log slider reaches both ends, comes back from each stop, and grows with its value", () => {
  for (const control of cases.controls.filter((c) => c.log)) {
    const stops = stage.logStops(control);
    const values = Array.from({ length: stops + 1 }, (_, stop) => stage.fromSlider(control, stop));
    assert.equal(values[0], control.low);
    assert.equal(values.at(-1), control.high);
    values.forEach((value, stop) => assert.equal(stage.toSlider(control, value), stop));
    values.slice(1).forEach((value, stop) => assert.ok(value > values[stop]));
  }
});

test("copied settings are the Python call that makes the widget again", () => {
  for (const { kind, controls, params, expected } of cases.calls) {
    assert.equal(stage.pythonCall(kind, controls, params), expected);
  }
});
