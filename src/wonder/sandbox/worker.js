// The world of a transform, evaluated first in a fresh context; IMPURE stands for what takes away the names that the worker
// does not know to be pure. What is only needed when something fails is in worker_faults.js.
//
// It is compiled for each run, which takes longer than to run it: so it is short, it has statements where there could be a
// loop, and no parentheses are around it all, because QuickJS reads twice what begins with one.
//
// Whatever is used after the author's code has run was taken aside before: that code may replace any method.
0, function (world, evaluate, parse, stringify, isArray, tagOf, prototypeOf, error, output) {
  "use strict";
  delete Math.random;
  // Every function leads to what makes functions of a text, and each sort to its own.
  delete Promise.prototype.constructor;
  delete Function.prototype.constructor;
  delete prototypeOf(function* () {}).constructor;
  delete prototypeOf(async () => {}).constructor;
  delete prototypeOf(async function* () {}).constructor;
  // These lead to the functions that have called.
  delete Error.prepareStackTrace;
  delete Error.captureStackTrace;
  delete Error.stackTraceLimit;
  IMPURE;
  // Refuses what JSON.stringify would leave out or change, but for an optional property that is not there.
  function check(key, value) {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        if (value - value === 0) return value;
        break;
      case "undefined":
        if (!isArray(this)) return value;
        break;
      case "object":
        if (value === null || isArray(value) || tagOf(value) === "[object Object]") return value;
    }
    throw check;
  }
  error = check;
  // Gives the output as JSON, or undefined if there is none; then it is called again, to say why.
  return function __run(source, input) {
    if (input === null) return evaluate(source)(output, error, check, stringify);
    try {
      evaluate(source);
      output = world.__transform(parse(input));
      return stringify(output, check);
    } catch (caught) {
      error = caught;
    }
  };
}(
  globalThis, eval, JSON.parse, JSON.stringify, Array.isArray,
  Function.prototype.call.bind(Object.prototype.toString), Object.getPrototypeOf,
)
