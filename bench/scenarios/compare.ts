/**
 * Measures several servers under the same load, one after the other in each
 * repeat, so that other activity on the machine affects all of them. Each server
 * runs only while it is measured.
 */
import type { Bench } from '#bench/harness/bench.ts'
import { type Contender, type Measurement, measure } from '#bench/harness/contender.ts'

/** One server's measurements, in the order of the repeats. */
export interface ServerComparison {
  readonly name: string
  readonly describe: string
  readonly runs: readonly Measurement[]
}

/** A server, and the number of messages for it in each repeat. */
export interface ServerRun {
  readonly contender: Contender
  readonly messages: number
}

export async function compareServers(bench: Bench, servers: readonly ServerRun[]): Promise<ServerComparison[]> {
  const results = servers.map(({ contender: { name, describe } }) => ({ name, describe, runs: [] as Measurement[] }))
  for (let repeat = 1; repeat <= bench.sizes.repeats; repeat++) {
    for (const [index, server] of servers.entries()) {
      const run = await measureServer(bench, server)
      results[index]?.runs.push(run)
      const [rate, cpuMs] = [run.deliveredRate.toFixed(0), (run.cpuMs['server'] ?? 0).toFixed(2)]
      bench.say(
        `  ${repeat} of ${bench.sizes.repeats}, ${server.contender.name}: ${rate} a second, ${cpuMs} ms CPU a message`,
      )
    }
  }
  return results
}

async function measureServer(
  { sizes, receiver: { sink, port } }: Bench,
  { contender, messages }: ServerRun,
): Promise<Measurement> {
  try {
    const groups = await contender.start(port)
    const warmUp = await measure(contender, groups, sink, sizes.warmUp)
    const run = await measure(contender, groups, sink, messages)
    return {
      ...run,
      violations: [...warmUp.violations.map((violation) => `${violation} (warm-up)`), ...run.violations],
    }
  } finally {
    await contender.stop()
  }
}
