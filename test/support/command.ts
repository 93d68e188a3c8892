/** A command of the program, run in this process: how it ended and what it printed. */
import type { Io } from '#bin/cli/actions.ts'

export type Run = (args: string[], io: Io) => Promise<number>

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function runCommand(run: Run, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
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
