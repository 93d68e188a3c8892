/**
 * The dot reporter of mocha. At the end it writes the counts as JSON to the file that TEST_COUNTS_FILE names: the exit
 * code of mocha does not distinguish a run without any test from one in which all tests passed.
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
