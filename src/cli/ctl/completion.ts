import type { CommandSpec } from "../command.ts";

/** Each asks the program itself for the candidates, so that a script never has to be renewed. ":files" leaves it to the shell. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_llmgw() {
  local line="\${COMP_LINE:0:COMP_POINT}" current separator
  local -a words
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  current="\${words[\${#words[@]}-1]}"
  mapfile -t COMPREPLY < <("\${words[0]}" complete -- "\${words[@]:1}" 2>/dev/null)
  if [[ "\${COMPREPLY[0]}" == ":files" ]]; then
    COMPREPLY=()
    compopt -o default 2>/dev/null
    return
  fi
  # Readline begins a new word after these, and wants only what follows them.
  for separator in : =; do
    if [[ "$COMP_WORDBREAKS" == *"$separator"* && "$current" == *"$separator"* ]]; then
      local before="\${current%"\${current##*"$separator"}"}"
      COMPREPLY=("\${COMPREPLY[@]#"$before"}")
      current="\${current#"$before"}"
    fi
  done
}
complete -F _llmgw llmgw
`,
  zsh: `#compdef llmgw
_llmgw() {
  local -a candidates
  candidates=(\${(f)"$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if [[ "$candidates[1]" == ":files" ]]; then _files; else compadd -a candidates; fi
}
if [ "$funcstack[1]" = "_llmgw" ]; then _llmgw "$@"; else compdef _llmgw llmgw; fi
`,
  fish: `function __llmgw_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l candidates ($words[1] complete -- $words[2..-1] 2>/dev/null)
  if test "$candidates[1]" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $candidates
  end
end
complete -c llmgw -f -a '(__llmgw_complete)'
`,
};

export const completion: CommandSpec = {
  name: "completion",
  summary: "print a completion script for a shell",
  details: "It completes commands, options, files and the names of nodes, profiles, replicas, models, keys and tokens.",
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
