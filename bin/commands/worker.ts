/** `mailstead worker`: runs webhooks, checks and housekeeping in this process. */
import { main } from '#worker/main.ts'
import { runRoles } from './restricted-role.ts'
import { refuseArguments } from '#bin/cli/no-arguments.ts'

export async function run(args: readonly string[]): Promise<number> {
  return (
    refuseArguments('worker', args) ??
    runRoles('worker', ['worker'], ({ config, onOpened }) => main(config, { onOpened }))
  )
}
