// The world of a transform, evaluated first in a fresh context: a function of the names to take away. It is compiled for
// each run, so it is short; what is only needed when something fails is in worker_faults.js.
//
// Whatever is used after the author's code has run was taken aside before: that code may replace any method.
(function (impure) {
  "use strict";
  const world = globalThis, evaluate = eval, { parse, stringify } = JSON, { isArray } = Array;
  const tagOf = Function.prototype.call.bind(Object.prototype.toString);
  delete Promise.prototype.constructor;
  delete Math.random;
  for (const name of impure) delete world[name];
  // Every function leads to what makes functions of a text, and each sort to its own.
  for (const made of [function () {}, function* () {}, async function () {}, async function* () {}])
    delete Object.getPrototypeOf(made).constructor;
  // These lead to the functions that have called.
  for (const name of ["prepareStackTrace", "captureStackTrace", "stackTraceLimit"]) delete Error[name];
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
  let output, error = check;
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
})
