/** What the environment asks of the tracing of requests, by OpenTelemetry's own names. */
export interface TracingSettings {
  readonly sampler: SamplerChoice;
}

export type SamplerChoice =
  { readonly kind: "on" } | { readonly kind: "off" } | { readonly kind: "ratio"; readonly share: number };

type Environment = Readonly<Record<string, string | undefined>>;

export interface TracingAnswer {
  /** Undefined: nothing is recorded. */
  readonly settings: TracingSettings | undefined;
  /** Sentences: what the environment says and this program cannot do. */
  readonly problems: readonly string[];
}

/**
 * Requests are recorded when an endpoint is named, or OTEL_TRACES_EXPORTER says otlp, and OTEL_SDK_DISABLED does not say
 * true. Names and meanings are those of OpenTelemetry's specification of environment variables.
 */
export function tracingSettings(env: Environment): TracingAnswer {
  const said = (name: string): string => env[name]?.trim() ?? "";
  const exporter = said("OTEL_TRACES_EXPORTER");
  const endpoint = said("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") + said("OTEL_EXPORTER_OTLP_ENDPOINT");
  const isWanted = exporter === "" ? endpoint !== "" : exporter !== "none";
  if (!isWanted || said("OTEL_SDK_DISABLED").toLowerCase() === "true") return { settings: undefined, problems: [] };
  if (exporter !== "" && exporter !== "otlp") {
    const problem = `OTEL_TRACES_EXPORTER is ${exporter}; only otlp and none are known, so nothing is recorded.`;
    return { settings: undefined, problems: [problem] };
  }
  const protocol = said("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") || said("OTEL_EXPORTER_OTLP_PROTOCOL");
  const isOther = protocol !== "" && protocol !== "http/json";
  const problem = `OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}; traces are sent as http/json.`;
  const sampler = samplerOf(env);
  return { settings: { sampler: sampler.choice }, problems: [...(isOther ? [problem] : []), ...sampler.problems] };
}

function samplerOf(env: Environment): { readonly choice: SamplerChoice; readonly problems: readonly string[] } {
  const name = env["OTEL_TRACES_SAMPLER"]?.trim() ?? "";
  switch (name.replace(/^parentbased_/, "")) {
    case "":
    case "always_on":
      return { choice: { kind: "on" }, problems: [] };
    case "always_off":
      return { choice: { kind: "off" }, problems: [] };
    case "traceidratio":
      return ratioOf(env["OTEL_TRACES_SAMPLER_ARG"]);
    default:
      return {
        choice: { kind: "on" },
        problems: [`OTEL_TRACES_SAMPLER is ${name}, which is not known; every request is recorded.`],
      };
  }
}

function ratioOf(given = "1"): { readonly choice: SamplerChoice; readonly problems: readonly string[] } {
  const share = Number(given);
  const isShare = given.trim() !== "" && share >= 0 && share <= 1;
  if (isShare) return { choice: { kind: "ratio", share }, problems: [] };
  const problem = `OTEL_TRACES_SAMPLER_ARG is ${given}, and not a number from 0 to 1; every request is recorded.`;
  return { choice: { kind: "on" }, problems: [problem] };
}
