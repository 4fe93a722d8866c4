// Says why a transform gave no output: what it threw, or where in what it returned there is something that is not JSON.
//
// Evaluated after the author's code, which may have replaced anything: what comes of that is a wrong message and no more.
(function (output, error, refused, quote) {
  "use strict";
  const DEPTH_MAX = 200;
  const SHOWN_MAX = 2000;
  const path = [];
  let reason;

  // Looks for what is not JSON, along `path`; says whether there is anything.
  function look(value) {
    switch (typeof value) {
      case "string":
      case "boolean":
        return false;
      case "number":
        reason = value + " is not a JSON number";
        return !Number.isFinite(value);
      case "object":
        if (value === null) return false;
        reason = "it is nested deeper than " + DEPTH_MAX + " levels, or holds itself";
        if (path.length === DEPTH_MAX) return true;
        return Array.isArray(value) ? lookInList(value) : lookInObject(value);
      default:
        reason = (value === undefined ? "undefined" : "a " + typeof value) + " is not a JSON value";
        return true;
    }
  }

  function lookInList(list) {
    for (let index = 0; index < list.length; index++) if (lookAt(index, list[index])) return true;
    return false;
  }

  function lookInObject(object) {
    const tag = Object.prototype.toString.call(object);
    reason = short(tag) + " is not a JSON value";
    if (tag !== "[object Object]") return true;
    for (const key of Object.keys(object)) {
      const value = object[key];
      if (value !== undefined && lookAt(key, value)) return true;
    }
    return false;
  }

  function lookAt(key, value) {
    path.push(key);
    if (look(value)) return true;
    path.pop();
    return false;
  }

  function short(value) {
    return ("" + value).slice(0, SHOWN_MAX);
  }

  // What was thrown may be anything, and asking it for its name may throw again.
  function thrown(error) {
    // No value has this type: QuickJS forgets the error where `normalize` has no memory left.
    if (typeof error === "unknown") return { name: "InternalError", message: "out of memory", stack: "" };
    try {
      if (typeof error !== "object" || error === null) return { name: "", message: short(error), stack: "" };
      const { name, message, stack } = error;
      return { name: short(name ?? ""), message: short(message ?? ""), stack: short(stack ?? "") };
    } catch {
      return { name: "", message: "it can't be described", stack: "" };
    }
  }

  const isRefused = error === refused;
  // JSON.stringify throws for a circle, and a getter for reasons of its own: looking again tells them apart.
  try {
    if ((isRefused || output !== undefined) && look(output)) return quote({ reason, path: path.slice(0, 8) });
  } catch (again) {
    return quote(thrown(again));
  }
  if (isRefused) return quote({ reason: "it is not JSON", path: [] });
  return quote(thrown(error));
})
