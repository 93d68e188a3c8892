/** `mailstead check [FILE ...]`: formatter, compiler and linter, for the whole project or for the named files. */
import { existsSync } from 'node:fs'
import { runChecks } from '#test/checks.ts'

export async function run(args: string[]): Promise<number> {
  const missing = args.filter((file) => !existsSync(file))
  if (missing.length > 0) {
    process.stderr.write(`mailstead check: no such file: ${missing.join(', ')}\n`)
    return 2
  }
  const { failed } = await runChecks(args)
  return failed === 0 ? 0 : 1
}
