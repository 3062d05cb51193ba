import type { CommandSpec } from "../command.ts";

/** Each asks the program itself for the candidates, so that a script never has to be renewed. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_llmgw() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  mapfile -t COMPREPLY < <("\${COMP_WORDS[0]}" complete -- "\${words[@]}" 2>/dev/null)
}
complete -o default -F _llmgw llmgw
`,
  zsh: `#compdef llmgw
_llmgw() {
  local -a candidates
  candidates=("\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a candidates
}
if [ "$funcstack[1]" = "_llmgw" ]; then _llmgw "$@"; else compdef _llmgw llmgw; fi
`,
  fish: `function __llmgw_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] complete -- $words[2..-1] 2>/dev/null
end
complete -c llmgw -f -a '(__llmgw_complete)'
`,
};

export const completion: CommandSpec = {
  name: "completion",
  summary: "print a completion script for a shell",
  details: "It completes commands, options and the names of nodes, profiles, replicas and models.",
  arguments: [{ form: "<shell>", doc: Object.keys(SCRIPTS).join(", "), choices: Object.keys(SCRIPTS) }],
  examples: [
    { line: "source <(llmgw ctl completion bash)", doc: "in this shell, or in ~/.bashrc for all" },
    { line: 'llmgw ctl completion zsh > "${fpath[1]}/_llmgw"', doc: "for zsh" },
    { line: "llmgw ctl completion fish > ~/.config/fish/completions/llmgw.fish", doc: "for fish" },
  ],
  run: ({ args: [shell = ""], io }) => {
    io.stdout.write(SCRIPTS[shell] ?? "");
    return Promise.resolve(0);
  },
};
