import { expect, test } from "vitest";
import { metricsPage } from "./metrics-page.ts";

test("a page as Prometheus reads it: what it is, then each value with its labels", () => {
  const page = metricsPage([
    { name: "a_total", type: "counter", help: "Counted.", values: [{ value: 3 }] },
    {
      name: "b",
      type: "gauge",
      help: "A \\ and\na line",
      values: [
        { labels: { node: 'x"y\\z\n', state: "ready" }, value: 0.5 },
        { labels: { node: "n", state: "sick" }, value: 0 },
      ],
    },
  ]);
  expect(page).toBe(
    [
      "# HELP a_total Counted.",
      "# TYPE a_total counter",
      "a_total 3",
      "",
      "# HELP b A \\\\ and\\na line",
      "# TYPE b gauge",
      'b{node="x\\"y\\\\z\\n",state="ready"} 0.5',
      'b{node="n",state="sick"} 0',
      "",
    ].join("\n"),
  );
});

test("a metric that has no value at present is named all the same", () => {
  expect(metricsPage([{ name: "c", type: "gauge", help: "C.", values: [] }])).toBe("# HELP c C.\n# TYPE c gauge\n");
});
