/**
 * The dot reporter of mocha. At the end it writes the counts as JSON to the file that TEST_COUNTS_FILE names: the exit
 * code of mocha does not distinguish a run without any test from one in which all tests passed. With TEST_DURATIONS=1
 * it prints the files whose tests lasted longest.
 */
import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { type MochaOptions, reporters, type Runner, type Test } from 'mocha'

const SHOWN_FILES = 40

export default class CountingReporter extends reporters.Dot {
  constructor(runner: Runner, options: MochaOptions) {
    super(runner, options)
    const file = process.env['TEST_COUNTS_FILE']
    if (file !== undefined) runner.once('end', () => writeFileSync(file, JSON.stringify(this.stats)))
    if (process.env['TEST_DURATIONS'] === '1') printDurations(runner)
  }
}

function printDurations(runner: Runner): void {
  const seconds = new Map<string, number>()
  runner.on('test end', ({ file = '', duration = 0 }: Test) =>
    seconds.set(file, (seconds.get(file) ?? 0) + duration / 1000),
  )
  runner.once('end', () => {
    const slowest = [...seconds].toSorted(([, a], [, b]) => b - a).slice(0, SHOWN_FILES)
    for (const [file, sum] of slowest)
      process.stdout.write(`${sum.toFixed(1).padStart(8)} s  ${relative(process.cwd(), file)}\n`)
  })
}
