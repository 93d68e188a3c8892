/** `mailstead worker`: runs webhooks, checks and housekeeping in this process. */
import { main } from '#worker/main.ts'
import { runRoles } from './restricted-role.ts'

export async function run(): Promise<number> {
  return runRoles('worker', ['worker'], ({ config, onOpened }) => main(config, { onOpened }))
}
