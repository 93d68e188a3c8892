/**
 * Measures several servers under the same load, one after the other in each repeat, so that other activity on the
 * machine affects all of them. Each server runs only while it is measured. For each load the checking sink receives the
 * warm-up and checks every message of it; then the rate is measured with the sink that costs the least.
 */
import type { Bench } from '#bench/harness/bench.ts'
import { type Contender, type Measurement, measure } from '#bench/harness/contender.ts'
import { withRateSink } from '#bench/harness/rate-sink.ts'
import { MIX_NAMES, type MailMix } from '#bench/mails/mail-mix.ts'

/** One server's measurements under one load, in the order of the repeats. */
export interface ServerComparison {
  readonly name: string
  readonly describe: string
  readonly mix: MailMix
  readonly runs: readonly Measurement[]
}

/** A server, the number of messages for it in each repeat, and the loads. Ratios compare the first load. */
export interface ServerRun {
  readonly contender: Contender
  readonly messages: number
  readonly mixes: readonly MailMix[]
}

/** The rows of Mailstead: with the mixture also mail of 4 KB, which the targets name. */
export function rowsOf(mix: MailMix): MailMix[] {
  return mix === 'mixed' ? ['mixed', 'html', 'text'] : [mix]
}

interface ServerRows {
  readonly run: ServerRun
  readonly rows: readonly (ServerComparison & { readonly runs: Measurement[] })[]
}

/** For a further load code is compiled and connections are known: its warm-up checks the messages. */
const MAX_FURTHER_WARM_UP = 500

export async function compareServers(bench: Bench, servers: readonly ServerRun[]): Promise<ServerComparison[]> {
  const results = servers.map(prepareRows)
  for (let repeat = 1; repeat <= bench.sizes.repeats; repeat++) {
    for (const { run, rows } of results) {
      const measured = await measureServer(bench, run)
      measured.forEach((one, index) => {
        rows[index]?.runs.push(one)
        bench.say(`  ${repeat} of ${bench.sizes.repeats}, ${rows[index]?.name}: ${describeRun(one)}`)
      })
    }
  }
  return results.flatMap(({ rows }) => rows)
}

function prepareRows(run: ServerRun): ServerRows {
  const { name, describe } = run.contender
  const rows = run.mixes.map((mix, index) => ({
    name: index === 0 ? name : `${name}, ${MIX_NAMES[mix]}`,
    describe: index === 0 ? `${describe}; ${MIX_NAMES[mix]}` : '',
    mix,
    runs: [] as Measurement[],
  }))
  return { run, rows }
}

function describeRun({ deliveredRate, cpuMs, signatureMs }: Measurement): string {
  const server = cpuMs['server'] ?? 0
  const signatures = (server / signatureMs).toFixed(1)
  return `${deliveredRate.toFixed(0)} a second, ${server.toFixed(2)} ms CPU a message (${signatures} signatures)`
}

async function measureServer({ sizes, receiver }: Bench, server: ServerRun): Promise<Measurement[]> {
  const { contender, messages, mixes } = server
  const measured: Measurement[] = []
  try {
    const groups = await contender.start(receiver.port)
    for (const [index, mix] of mixes.entries()) {
      const count = index === 0 ? sizes.warmUp : Math.min(sizes.warmUp, MAX_FURTHER_WARM_UP)
      const warmUp = await measure(contender, groups, receiver.sink, { count, mix })
      const run = await withRateSink(receiver, (sink) => measure(contender, groups, sink, { count: messages, mix }))
      const violations = warmUp.violations.map((violation) => `${violation} (${mix}, warm-up)`)
      measured.push({ ...run, violations: [...violations, ...run.violations] })
    }
    return measured
  } finally {
    await contender.stop()
  }
}

/**
 * Of the configurations of each reference server, the one that delivers more: each is measured once, and the better
 * one is compared in all repeats.
 */
export async function chooseFastest(
  bench: Bench,
  references: readonly (readonly Contender[])[],
  mix: MailMix,
): Promise<Contender[]> {
  const chosen: Contender[] = []
  for (const configurations of references) {
    const rates = new Map<Contender, number>()
    for (const contender of configurations) {
      const [run] = await measureServer(bench, { contender, messages: bench.sizes.trialMessages, mixes: [mix] })
      rates.set(contender, run?.deliveredRate ?? 0)
      bench.say(`  trial of ${contender.describe}: ${run === undefined ? 'no result' : describeRun(run)}`)
    }
    const [fastest] = configurations.toSorted((a, b) => (rates.get(b) ?? 0) - (rates.get(a) ?? 0))
    if (fastest !== undefined) chosen.push(fastest)
  }
  return chosen
}
