/** Runs a CLI command in this process and returns its exit code and output. */
import type { CommandIo } from '#bin/cli/call.ts'

export type CommandMain = (args: string[], io: CommandIo) => Promise<number>

export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function runCommand(
  run: CommandMain,
  args: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<CommandResult> {
  let [out, err] = ['', '']
  const code = await run(args, {
    env,
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
  })
  return { code, out, err }
}
