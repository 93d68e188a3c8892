/** `mailstead bench`: measures throughput, latency and cost on this machine. `bench/README.md` explains the results. */
import { runBench } from '#bench/main.ts'
import { parseOptions, USAGE } from '#bench/harness/options.ts'
import { watchForStop } from './stop-signal.ts'

export async function run(args: string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(USAGE)
    return 0
  }
  const options = parseOptions(args)
  if (typeof options === 'string') {
    process.stderr.write(`mailstead bench: ${options}\n\n${USAGE}`)
    return 2
  }
  return runBench(options, watchForStop(), (line) => process.stderr.write(`${line}\n`))
}
