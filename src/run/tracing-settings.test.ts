import { describe, expect, test } from "vitest";
import { tracingSettings } from "./tracing-settings.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

describe("whether requests are recorded", () => {
  test.each([
    ["nothing is said", {}, undefined],
    ["an endpoint is named", ENDPOINT, { kind: "on" }],
    ["one for traces alone", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://c/v1/traces" }, { kind: "on" }],
    ["an empty endpoint", { OTEL_EXPORTER_OTLP_ENDPOINT: " " }, undefined],
    ["the exporter is named", { OTEL_TRACES_EXPORTER: "otlp" }, { kind: "on" }],
    ["no exporter is wanted", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }, undefined],
    ["it is disabled", { ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }, undefined],
    ["disabled by another word is not disabled", { ...ENDPOINT, OTEL_SDK_DISABLED: "1" }, { kind: "on" }],
    ["a sampler that says no", { ...ENDPOINT, OTEL_TRACES_SAMPLER: "always_off" }, { kind: "off" }],
    [
      "a share",
      { ...ENDPOINT, OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" },
      { kind: "ratio", share: 0.25 },
    ],
    ["a share that is not said", { ...ENDPOINT, OTEL_TRACES_SAMPLER: "traceidratio" }, { kind: "ratio", share: 1 }],
  ])("%s", (_, env, sampler) => {
    expect(tracingSettings(env)).toEqual({ settings: sampler === undefined ? undefined : { sampler }, problems: [] });
  });

  test.each([
    ["a sampler", { ...ENDPOINT, OTEL_TRACES_SAMPLER: "jaeger_remote" }, "OTEL_TRACES_SAMPLER is jaeger_remote"],
    [
      "a share",
      { ...ENDPOINT, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "50%" },
      "OTEL_TRACES_SAMPLER_ARG is 50%",
    ],
    ["a protocol", { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, "OTEL_EXPORTER_OTLP_PROTOCOL is grpc"],
    ["an exporter", { OTEL_TRACES_EXPORTER: "zipkin" }, "OTEL_TRACES_EXPORTER is zipkin"],
  ])("%s that is not known is named", (_, env, sentence) => {
    expect(tracingSettings(env).problems).toEqual([expect.stringContaining(sentence)]);
  });
});
