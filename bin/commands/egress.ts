/** `mailstead egress`: sending IPs (`source`) and their pools (`pool`). */
import { type CliActions, type CommandIo, runActions } from '#bin/cli/actions.ts'
import { POOL_ACTIONS } from '#bin/egress/pool-actions.ts'
import { SOURCE_ACTIONS } from '#bin/egress/source-actions.ts'

const SUBCOMMANDS: Readonly<Record<string, CliActions>> = { source: SOURCE_ACTIONS, pool: POOL_ACTIONS }

/** All actions by their two words. */
const ACTIONS: CliActions = Object.fromEntries(
  Object.entries(SUBCOMMANDS).flatMap(([part, actions]) =>
    Object.entries(actions).map(([name, action]) => [
      `${part} ${name}`,
      { ...action, usage: `${part} ${action.usage}` },
    ]),
  ),
)

export function run(args: string[], io?: CommandIo): Promise<number> {
  const [part = '', name = '', ...rest] = args
  const isPart = Object.hasOwn(SUBCOMMANDS, part)
  return runActions('egress', ACTIONS, isPart ? [`${part} ${name}`.trim(), ...rest] : args, io)
}
