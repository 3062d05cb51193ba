/** What an engine can be asked for, and what it takes beyond that. Each is a capability: nobody asks for an engine's name. */
const ENGINE_API_DOCS = {
  chat: "POST /v1/chat/completions",
  completions: "POST /v1/completions",
  embeddings: "POST /v1/embeddings",
  rerank: "POST /v1/rerank",
  responses: "POST /v1/responses, with every event numbered and placed",
  "responses-count": "POST /v1/responses/input_tokens",
  messages: "POST /v1/messages",
  "messages-count": "POST /v1/messages/count_tokens",
  transcriptions: "POST /v1/audio/transcriptions",
  translations: "POST /v1/audio/translations",
  speech: "POST /v1/audio/speech",
  images: "POST /v1/images/generations",
  tokenize: "POST /tokenize",
  detokenize: "POST /detokenize",
  "tokenize-chat": "POST /tokenize takes the messages of a chat",
  "apply-template": "POST /apply-template makes a prompt of the messages of a chat",
  "template-settings": "chat takes chat_template_kwargs",
  "continues-last-message": "chat goes on with a last message of the assistant, always",
  "continues-when-asked":
    "chat goes on with a last message of the assistant when continue_final_message is set, and only then",
} as const;

export type EngineApi = keyof typeof ENGINE_API_DOCS;

export const isEngineApi = (text: string): text is EngineApi => Object.hasOwn(ENGINE_API_DOCS, text);
