"""Confines the process that runs student code. Each means is one small module and can be missing.

`landlock`, `seccomp`, `resources` and `identity` are applied by the process to itself and need no privilege;
`namespaces` builds a small root around the server that student processes are forked from, where the system
allows it. `confine` applies what there is and names it; the names stand in every verdict. Self-contained, as
`worker` is: the judge copies both folders into the place that student code can see.
"""
