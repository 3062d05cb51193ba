import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Millis } from "../core/ids.ts";
import type { ReplicaRoute } from "../core/route.ts";
import type { TokenUse } from "../core/usage.ts";
import { VERSION } from "../core/version.ts";
import type { Ending, Trace } from "../router/account.ts";
import type { RequestSpan, RequestTracer } from "../router/tracing.ts";
import { parentOf, traceparentOf } from "./traceparent.ts";
import type { SamplerChoice, TracingSettings } from "./tracing-settings.ts";

export interface Tracing extends RequestTracer {
  /** Sends what is left. Never rejects: a collector that is away is no failure of ours. */
  stop(): Promise<void>;
}

/**
 * Records requests as OpenTelemetry's spans, with the attributes of its conventions for generative models, and sends them in
 * batches to the endpoint that the environment names. This file brings the whole SDK with it: it is loaded only where
 * somebody asks for traces.
 */
export function startTracing({ sampler }: TracingSettings): Tracing {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "llmgw-router", "service.version": VERSION }))
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
  const provider = new TracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: rootSampler(sampler) }),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  const tracer = provider.getTracer("llmgw", VERSION);
  return {
    begin({ method = "", headers }, path) {
      const attributes = { "http.request.method": method, "url.path": path, "http.route": path };
      const options = { kind: SpanKind.SERVER, attributes };
      const span = tracer.startSpan(`${method} ${path}`, options, parentOf(headers));
      return new RecordedRequest(span, (name, own, context) => tracer.startSpan(name, own, context));
    },
    stop: () => provider.shutdown().catch(() => undefined),
  };
}

function rootSampler(choice: SamplerChoice): Sampler {
  switch (choice.kind) {
    case "on":
      return new AlwaysOnSampler();
    case "off":
      return new AlwaysOffSampler();
    case "ratio":
      return new TraceIdRatioBasedSampler(choice.share);
  }
}
type StartSpan = (
  name: string,
  options: { readonly kind: SpanKind; readonly attributes: Attributes; readonly startTime?: Date },
  context: Context,
) => Span;

class RecordedRequest implements RequestSpan {
  readonly #span: Span;
  readonly #context: Context;
  readonly #startSpan: StartSpan;
  #attempt: Span | undefined;

  constructor(span: Span, startSpan: StartSpan) {
    this.#span = span;
    this.#context = trace.setSpan(ROOT_CONTEXT, span);
    this.#startSpan = startSpan;
  }

  waited(duration: Millis): void {
    const startTime = new Date(Date.now() - duration);
    this.#startSpan("queue", { kind: SpanKind.INTERNAL, attributes: {}, startTime }, this.#context).end();
  }

  sent({ path, model = "", attempts }: Trace, replica: ReplicaRoute): string {
    this.#attempt?.end();
    const operation = operationOf(path);
    const attributes: Attributes = {
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": "llmgw",
      "gen_ai.request.model": model,
      "server.address": replica.host,
      "server.port": replica.port,
      "llmgw.replica": replica.id,
      "llmgw.attempt": attempts,
    };
    this.#attempt = this.#startSpan(`${operation} ${model}`, { kind: SpanKind.CLIENT, attributes }, this.#context);
    return traceparentOf(this.#attempt.spanContext());
  }

  failed(detail: string): void {
    this.#attempt?.setStatus({ code: SpanStatusCode.ERROR, message: detail });
    this.#attempt?.end();
    this.#attempt = undefined;
  }

  end(done: Trace, ending: Ending, tokens: TokenUse): void {
    this.#endAttempt(done, ending, tokens);
    this.#span.setAttributes({
      "http.response.status_code": ending.code,
      "llmgw.request_id": done.requestId,
      "llmgw.outcome": ending.outcome,
      "llmgw.attempts": done.attempts,
      ...(done.model === undefined ? {} : { "gen_ai.request.model": done.model }),
    });
    if (ending.code >= 500) {
      this.#span.setAttribute("error.type", ending.outcome);
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: ending.detail ?? ending.outcome });
    }
    this.#span.end();
  }

  #endAttempt({ isStream, startedAt, firstTokenAt }: Trace, ending: Ending, tokens: TokenUse): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    attempt.setAttributes({
      "gen_ai.request.stream": isStream,
      "gen_ai.usage.input_tokens": tokens.prompt,
      "gen_ai.usage.output_tokens": tokens.completion,
      "gen_ai.usage.cache_read.input_tokens": tokens.cached,
    });
    if (firstTokenAt !== undefined) {
      attempt.setAttribute("gen_ai.response.time_to_first_chunk", (firstTokenAt - startedAt) / 1000);
    }
    if (ending.outcome !== "complete") attempt.setAttribute("error.type", ending.outcome);
    if (ending.code >= 500) attempt.setStatus({ code: SpanStatusCode.ERROR, message: ending.detail ?? ending.outcome });
    attempt.end();
  }
}

/** By the conventions' words; a path that has none there is called by its last part. */
function operationOf(path: string): string {
  if (path.endsWith("/chat/completions") || path.endsWith("/messages") || path.endsWith("/responses")) return "chat";
  if (path.endsWith("/completions")) return "text_completion";
  return path.slice(path.lastIndexOf("/") + 1);
}
