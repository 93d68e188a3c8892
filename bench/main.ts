/**
 * The benchmark from its arguments to its report: builds what the scenarios
 * need, runs those that were asked for, prints the tables and writes the JSON.
 * A scenario that fails is told and the others go on; whatever happens, all
 * that was started is ended. Exit code: 0 measured, 1 something failed or mail
 * was lost, doubled or badly signed, 130 interrupted. Missed targets are 0.
 */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Trouble } from '#bin/supervisor/user-error.ts'
import type { Bench, Receiver } from '#bench/harness/bench.ts'
import type { Contender } from '#bench/harness/contender.ts'
import { type Crew, createCrew } from '#bench/harness/worker-processes.ts'
import { makeDkimKey } from '#bench/harness/dkim.ts'
import { describeMachine } from '#bench/harness/machine.ts'
import { asContender, type Mailstead, openMailstead } from '#bench/harness/mailstead.ts'
import type { Options, Scenario } from '#bench/harness/options.ts'
import { openDirect } from '#bench/references/direct.ts'
import { openHaraka } from '#bench/references/haraka.ts'
import { missingForPostfix, openPostfix } from '#bench/references/postfix.ts'
import { startRemote } from '#bench/harness/remote.ts'
import { writeReport } from './report.ts'
import type { Results } from './results.ts'
import { runApi } from '#bench/scenarios/api.ts'
import { runAutomations } from '#bench/scenarios/automations.ts'
import { runBacklog } from '#bench/scenarios/backlog.ts'
import { runCampaign } from '#bench/scenarios/campaign.ts'
import { compare, type Turn } from '#bench/scenarios/compare.ts'
import { runContacts } from '#bench/scenarios/contacts.ts'
import { runDepth } from '#bench/scenarios/depth.ts'
import { runImport } from '#bench/scenarios/import.ts'
import { runLatency } from '#bench/scenarios/latency.ts'
import { runSmtp } from '#bench/scenarios/smtp.ts'
import { runTarpits } from '#bench/scenarios/tarpits.ts'
import { runTracking } from '#bench/scenarios/tracking.ts'
import { judge } from './targets.ts'

type Say = (line: string) => void
interface Run {
  readonly stop: AbortSignal
  readonly say: Say
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const OUT = fileURLToPath(new URL('out', import.meta.url))

/** Runs the benchmark; answers the exit code. `stop` interrupts it. */
export async function runBench(options: Options, stop: AbortSignal, say: Say): Promise<number> {
  const crew = createCrew()
  const stopped = new Promise<'stopped'>((resolve) => {
    stop.addEventListener('abort', () => resolve('stopped'), { once: true })
  })
  const work = measureAll(crew, options, { stop, say })
  // After an interruption, what is under way fails because its processes end: that is no news.
  work.catch(() => {})
  try {
    const end = await Promise.race([work, stopped])
    if (end === 'stopped') say('Interrupted: ending what was started...')
    return end === 'stopped' ? 130 : end
  } finally {
    await crew.end()
  }
}

async function measureAll(crew: Crew, options: Options, { stop, say }: Run): Promise<number> {
  const stamp = new Date().toISOString().replace(/[:.]/g, '-')
  const machine = describeMachine(crew.isInMemory)
  const { results, failures } = await runScenarios(crew, options, { stamp, stop, say })
  const offences = offencesIn(results)
  const verdicts = judge(results)
  process.stdout.write(`\n${writeReport(machine, results, verdicts)}`)
  mkdirSync(OUT, { recursive: true })
  const file = join(OUT, `${stamp}.json`)
  writeFileSync(
    file,
    `${JSON.stringify({ stamp, machine, options, results, verdicts, offences, failures }, null, 2)}\n`,
  )
  const wrong = [...failures, ...offences]
  if (wrong.length > 0) cpSync(join(crew.dir, 'log'), join(OUT, `${stamp}-log`), { recursive: true })
  say(`\nAll figures: ${file}${wrong.length > 0 ? `\nLogs: ${join(OUT, `${stamp}-log`)}` : ''}`)
  for (const line of wrong) process.stderr.write(`bench: ${line}\n`)
  return wrong.length > 0 ? 1 : 0
}

interface Findings {
  readonly results: Results
  readonly failures: readonly string[]
}

async function runScenarios(
  crew: Crew,
  options: Options,
  { stamp, stop, say }: Run & { stamp: string },
): Promise<Findings> {
  const bench = await openBench(crew, options, say)
  const results: Mutable<Results> = {}
  const failures: string[] = []
  const profileDir = options.isProfiled ? join(OUT, `${stamp}-profiles`) : null
  let mailstead: Mailstead | null = null
  const ready = async (): Promise<Mailstead> => (mailstead ??= await openMailstead(crew, profileDir, say))
  const runners = listRunners(bench, results, ready)
  for (const scenario of options.scenarios) {
    say(`${scenario}:`)
    await runners[scenario]().catch((error: unknown) => {
      failures.push(`${scenario} failed: ${wordsOf(error)}`)
    })
    stop.throwIfAborted()
  }
  return { results, failures }
}

type Runners = Readonly<Record<Scenario, () => Promise<void>>>

/** One function for each scenario: stores its figures in `results`. Mailstead starts with the first that needs it. */
function listRunners(bench: Bench, results: Mutable<Results>, ready: () => Promise<Mailstead>): Runners {
  const withMailstead = async (): Promise<Bench & { mailstead: Mailstead }> => ({ ...bench, mailstead: await ready() })
  return {
    e2e: async () => {
      results.e2e = await runE2e(bench, await ready())
    },
    smtp: async () => {
      results.smtp = await runSmtp(bench, await ready())
    },
    latency: async () => {
      results.latency = await runLatency(await withMailstead())
    },
    backlog: async () => {
      results.backlog = await runBacklog(await withMailstead())
    },
    depth: async () => {
      results.depth = await runDepth(await withMailstead())
    },
    api: async () => {
      results.api = await runApi(await withMailstead())
    },
    import: async () => {
      results.import = await runImport(await withMailstead())
    },
    contacts: async () => {
      results.contacts = await runContacts(await withMailstead())
    },
    tarpits: async () => {
      results.tarpits = await runTarpits(await withMailstead())
    },
    campaign: async () => {
      results.campaign = await runCampaign(await withMailstead())
    },
    automations: async () => {
      results.automations = await runAutomations(await withMailstead())
    },
    tracking: async () => {
      results.tracking = await runTracking(await withMailstead())
    },
    references: async () => {
      results.references = await compare(bench, [openDirect(), ...bench.references].map(referenceTurn(bench)))
    },
  }
}

/** References first in every repeat; they and Mailstead take turns. */
function runE2e(bench: Bench, mailstead: Mailstead): ReturnType<typeof compare> {
  const ours: Turn = { contender: asContender(mailstead), messages: bench.sizes.messages }
  return compare(bench, [...bench.references.map(referenceTurn(bench)), ours])
}

function referenceTurn({ sizes }: Bench): (contender: Contender) => Turn {
  return (contender) => ({ contender, messages: sizes.referenceMessages })
}

async function openBench(crew: Crew, { sizes, scenarios, hasReferences }: Options, say: Say): Promise<Bench> {
  const receiver = await openReceiver(crew)
  const otherReceiver = await openReceiver(crew)
  const isCompared =
    scenarios.includes('references') || ((scenarios.includes('e2e') || scenarios.includes('smtp')) && hasReferences)
  return { sizes, receiver, otherReceiver, references: isCompared ? await openReferences(crew, say) : [], say }
}

async function openReceiver(crew: Crew): Promise<Receiver> {
  const sink = await startRemote('sink')
  crew.defer(() => sink.end())
  return { sink, port: await sink.listen() }
}

/** Those that can run here; why another cannot is told. */
async function openReferences(crew: Crew, say: Say): Promise<Bench['references']> {
  const key = makeDkimKey()
  const haraka = await openHaraka(crew, key, say).catch((error: unknown) => {
    say(`Without Haraka: ${wordsOf(error)}`)
    return null
  })
  const missing = missingForPostfix()
  if (missing !== null) say(`Without Postfix: ${missing}`)
  return [...(haraka === null ? [] : [haraka]), ...(missing === null ? [openPostfix(crew, key)] : [])]
}

function offencesIn({
  e2e = [],
  smtp = [],
  references = [],
  latency,
  backlog,
  depth,
  api,
  tarpits,
  campaign,
  automations,
  tracking,
}: Results): string[] {
  return [
    ...[...e2e, ...smtp, ...references].flatMap(({ runs }) => runs.flatMap((run) => run.offences)),
    ...[latency, backlog, depth, api, tarpits, campaign, automations, tracking].flatMap(
      (result) => result?.offences ?? [],
    ),
  ]
}

function wordsOf(error: unknown): string {
  if (error instanceof Trouble) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
