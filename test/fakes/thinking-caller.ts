import { scriptedGguf } from "./scripted-gguf.ts";

/** With tools, results and thoughts, as templates of today write them. */
const TEMPLATE = [
  "{%- if tools %}{{- '<|im_start|>system\\n<tools>' }}{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}",
  '{{- \'\\n</tools>\\nCall:\\n<tool_call>\\n{"name": <name>, "arguments": <object>}\\n</tool_call><|im_end|>\\n\' }}{%- endif %}',
  "{%- for message in messages %}",
  "{%- if message.role == 'tool' %}",
  "{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}",
  "{%- else %}{{- '<|im_start|>' + message.role + '\\n' }}",
  "{%- if message.reasoning_content %}{{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}{%- endif %}",
  "{%- if message.content %}{{- message.content }}{%- endif %}",
  "{%- for call in message.tool_calls or [] %}{%- set call = call.function or call %}",
  '{{- \'\\n<tool_call>\\n{"name": "\' + call.name + \'", "arguments": \' }}',
  "{{- call.arguments if call.arguments is string else call.arguments | tojson }}{{- '}\\n</tool_call>' }}{%- endfor %}",
  "{{- '<|im_end|>\\n' }}{%- endif %}{%- endfor %}",
  "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}",
].join("\n");

/** A model that thinks, says something and calls the tool "weather" with Paris, whatever it is asked. */
export const thinkingCaller = (): Uint8Array =>
  scriptedGguf({
    says: [
      ...["<think>\n", "Paris, then.", "\n</think>\n\n", "Let me look.", "\n<tool_call>\n"],
      ...['{"name": "weather", "arguments": ', '{"city": ', '"Paris"', "}}", "\n</tool_call>"],
    ],
    template: TEMPLATE,
  });
