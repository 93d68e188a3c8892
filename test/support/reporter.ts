/**
 * mocha's dots, and at the end the counts as JSON in the file that TEST_COUNTS_FILE names: mocha's exit code alone cannot tell a run
 * in which nothing was counted from one in which all was well.
 */
import { writeFileSync } from 'node:fs'
import { type MochaOptions, reporters, type Runner } from 'mocha'

export default class CountingReporter extends reporters.Dot {
  constructor(runner: Runner, options: MochaOptions) {
    super(runner, options)
    const file = process.env['TEST_COUNTS_FILE']
    if (file !== undefined) runner.once('end', () => writeFileSync(file, JSON.stringify(this.stats)))
  }
}
