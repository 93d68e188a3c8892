/** `mailstead egress`: sending IPs (`source`) and their pools (`pool`). */
import { runActions } from '#bin/cli/actions.ts'
import type { CliActions, CommandIo } from '#bin/cli/call.ts'
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
  return runActions('egress', ACTIONS, args, io)
}
