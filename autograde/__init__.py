"""The instructor's side: hidden tests, judge, build, reports. It is never part of what students get."""
