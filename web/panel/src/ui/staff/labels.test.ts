import { describe, expect, it } from "vitest";

import { readLabels, readTarget, writeLabels } from "./labels";

describe("labels of machines", () => {
  it("are read and written as people do", () => {
    const labels = readLabels(" gpu, disk=nvme  rack=a=b,");
    expect(labels).toEqual({ gpu: "", disk: "nvme", rack: "a=b" });
    expect(writeLabels(labels)).toEqual(["disk=nvme", "gpu", "rack=a=b"]);
    expect(readLabels("")).toEqual({});
  });

  it("say where services move, beside name and location", () => {
    expect(readTarget({ to: " ", location: "", labels: "" })).toEqual({});
    expect(readTarget({ to: "node2", location: "tashkent", labels: "gpu" })).toEqual({
      to: "node2",
      location: "tashkent",
      labels: { gpu: "" },
    });
  });
});
