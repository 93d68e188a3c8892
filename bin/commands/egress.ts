/** `mailstead egress`: the addresses that mail leaves from (`source`) and the sets that they form (`pool`). */
import { type Actions, type Io, runActions } from '#bin/cli/actions.ts'
import { POOL_ACTIONS } from '#bin/egress/pool-actions.ts'
import { SOURCE_ACTIONS } from '#bin/egress/source-actions.ts'

const PARTS: Readonly<Record<string, Actions>> = { source: SOURCE_ACTIONS, pool: POOL_ACTIONS }

/** All of them, by their two words. */
const ALL: Actions = Object.fromEntries(
  Object.entries(PARTS).flatMap(([part, actions]) =>
    Object.entries(actions).map(([name, action]) => [
      `${part} ${name}`,
      { ...action, usage: `${part} ${action.usage}` },
    ]),
  ),
)

export function run(args: string[], io?: Io): Promise<number> {
  const [part = '', name = '', ...rest] = args
  const isPart = Object.hasOwn(PARTS, part)
  return runActions('egress', ALL, isPart ? [`${part} ${name}`.trim(), ...rest] : args, io)
}
