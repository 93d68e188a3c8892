/** `mailstead test`: all checks and tests; further arguments go to mocha. */
import { runTests } from '#test/run.ts'
import { watchForStop } from './stop-signal.ts'

export async function run(args: string[]): Promise<number> {
  return runTests(
    args,
    watchForStop(() => process.exit(130)),
  )
}
