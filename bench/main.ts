/**
 * Runs the benchmark: starts what the scenarios need, runs the selected ones,
 * prints the tables and writes the JSON file. A failed scenario is reported and
 * the others continue. At the end, also after a failure, everything that was
 * started is stopped. Exit code: 0 = measured (missed targets included), 1 = a
 * scenario failed, or mail was lost, duplicated or badly signed,
 * 130 = interrupted.
 */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { Bench, BenchReceiver } from '#bench/harness/bench.ts'
import type { Contender } from '#bench/harness/contender.ts'
import { type ProcessManager, createProcessManager } from '#bench/harness/process-manager.ts'
import { generateDkimKey } from '#bench/harness/dkim.ts'
import { describeMachine } from '#bench/harness/machine.ts'
import { asContender, type Mailstead, openMailstead } from '#bench/harness/mailstead.ts'
import type { BenchOptions, Scenario } from '#bench/harness/options.ts'
import { openDirect } from '#bench/references/direct.ts'
import { openHarakas } from '#bench/references/haraka.ts'
import { missingForPostfix, openPostfixes } from '#bench/references/postfix.ts'
import { startRemote } from '#bench/harness/remote.ts'
import { readStages } from '#bench/harness/stages.ts'
import { writeReport } from './report.ts'
import type { BenchResults } from './results.ts'
import { runApi } from '#bench/scenarios/api.ts'
import { runAutomations } from '#bench/scenarios/automations.ts'
import { runBacklog } from '#bench/scenarios/backlog.ts'
import { runCampaign } from '#bench/scenarios/campaign.ts'
import { chooseFastest, compareServers, rowsOf, type ServerRun } from '#bench/scenarios/compare.ts'
import { runContacts } from '#bench/scenarios/contacts.ts'
import { runCores } from '#bench/scenarios/cores.ts'
import { runDepth } from '#bench/scenarios/depth.ts'
import { runImport } from '#bench/scenarios/import.ts'
import { runLatency } from '#bench/scenarios/latency.ts'
import { runSmtp } from '#bench/scenarios/smtp.ts'
import { runStreams } from '#bench/scenarios/streams.ts'
import { runSubmission } from '#bench/scenarios/submission.ts'
import { runTarpits } from '#bench/scenarios/tarpits.ts'
import { runTracking } from '#bench/scenarios/tracking.ts'
import { evaluateTargets } from './targets.ts'

type Say = (line: string) => void
interface Run {
  readonly stop: AbortSignal
  readonly say: Say
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const OUT_DIR = fileURLToPath(new URL('out', import.meta.url))

/** Runs the benchmark and returns the exit code. `stop` interrupts it. */
export async function runBench(options: BenchOptions, stop: AbortSignal, say: Say): Promise<number> {
  const manager = createProcessManager()
  const stopped = new Promise<'stopped'>((resolve) => {
    stop.addEventListener('abort', () => resolve('stopped'), { once: true })
  })
  const work = measureAll(manager, options, { stop, say })
  // After an interruption the running scenario fails because its processes are stopped. That is expected.
  work.catch(() => {})
  try {
    const end = await Promise.race([work, stopped])
    if (end === 'stopped') say('Interrupted: stopping all processes...')
    return end === 'stopped' ? 130 : end
  } finally {
    await manager.end()
  }
}

async function measureAll(manager: ProcessManager, options: BenchOptions, { stop, say }: Run): Promise<number> {
  const stamp = new Date().toISOString().replace(/[:.]/g, '-')
  const machine = describeMachine(manager.isInMemory)
  const { results, failures } = await runScenarios(manager, options, { stamp, stop, say })
  const violations = collectViolations(results)
  const targets = evaluateTargets(results)
  process.stdout.write(`\n${writeReport(machine, results, targets)}`)
  mkdirSync(OUT_DIR, { recursive: true })
  const file = join(OUT_DIR, `${stamp}.json`)
  writeFileSync(
    file,
    `${JSON.stringify({ stamp, machine, options, results, targets, violations, failures }, null, 2)}\n`,
  )
  const problems = [...failures, ...violations]
  if (problems.length > 0) cpSync(join(manager.dir, 'log'), join(OUT_DIR, `${stamp}-log`), { recursive: true })
  say(`\nAll results: ${file}${problems.length > 0 ? `\nLogs: ${join(OUT_DIR, `${stamp}-log`)}` : ''}`)
  for (const line of problems) process.stderr.write(`bench: ${line}\n`)
  return problems.length > 0 ? 1 : 0
}

interface ScenarioResults {
  readonly results: BenchResults
  readonly failures: readonly string[]
}

async function runScenarios(
  manager: ProcessManager,
  options: BenchOptions,
  { stamp, stop, say }: Run & { stamp: string },
): Promise<ScenarioResults> {
  const bench = await openBench(manager, options, say)
  const results: Mutable<BenchResults> = {}
  const failures: string[] = []
  const profileDir = options.isProfiled ? join(OUT_DIR, `${stamp}-profiles`) : null
  let mailstead: Mailstead | null = null
  const openOnce = async (): Promise<Mailstead> => (mailstead ??= await openMailstead(manager, profileDir, say))
  let chosen: Promise<Contender[]> | null = null
  const chooseOnce = (): Promise<Contender[]> => (chosen ??= chooseFastest(bench, bench.references, bench.mix))
  const runners = listRunners(bench, results, { openOnce, chooseOnce })
  for (const scenario of options.scenarios) {
    say(`${scenario}:`)
    await runners[scenario]().catch((error: unknown) => {
      failures.push(`${scenario} failed: ${errorText(error)}`)
    })
    stop.throwIfAborted()
  }
  if (profileDir !== null) results.stages = readStages(profileDir)
  return { results, failures }
}

/** Each is opened, or chosen, when the first scenario needs it. */
interface Servers {
  readonly openOnce: () => Promise<Mailstead>
  readonly chooseOnce: () => Promise<Contender[]>
}
type Runners = Readonly<Record<Scenario, () => Promise<void>>>

/** One function per scenario; it stores its result in `results`. The first that needs Mailstead starts it. */
function listRunners(bench: Bench, results: Mutable<BenchResults>, { openOnce, chooseOnce }: Servers): Runners {
  const withMailstead = async (): Promise<Bench & { mailstead: Mailstead }> => ({
    ...bench,
    mailstead: await openOnce(),
  })
  return {
    e2e: async () => {
      results.e2e = await runE2e(bench, await openOnce(), await chooseOnce())
    },
    smtp: async () => {
      results.smtp = await runSmtp(bench, await openOnce(), await chooseOnce())
    },
    submission: async () => {
      results.submission = await runSubmission(await withMailstead())
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
    cores: async () => {
      results.cores = await runCores(await withMailstead())
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
    streams: async () => {
      results.streams = await runStreams(await withMailstead())
    },
    references: async () => {
      results.references = await compareServers(
        bench,
        [openDirect(), ...(await chooseOnce())].map(referenceTurn(bench)),
      )
    },
  }
}

/** In every repeat the references run first, then Mailstead. */
function runE2e(
  bench: Bench,
  mailstead: Mailstead,
  references: readonly Contender[],
): ReturnType<typeof compareServers> {
  const { sizes, mix } = bench
  const ours: ServerRun = { contender: asContender(mailstead), messages: sizes.messages, mixes: rowsOf(mix) }
  return compareServers(bench, [...references.map(referenceTurn(bench)), ours])
}

function referenceTurn({ sizes, mix }: Bench): (contender: Contender) => ServerRun {
  return (contender) => ({ contender, messages: sizes.referenceMessages, mixes: [mix] })
}

async function openBench(
  manager: ProcessManager,
  { sizes, scenarios, hasReferences, mix }: BenchOptions,
  say: Say,
): Promise<Bench> {
  const receiver = await openReceiver(manager)
  const otherReceiver = await openReceiver(manager)
  const isCompared =
    scenarios.includes('references') || ((scenarios.includes('e2e') || scenarios.includes('smtp')) && hasReferences)
  return { mix, sizes, receiver, otherReceiver, references: isCompared ? await openReferences(manager, say) : [], say }
}

async function openReceiver(manager: ProcessManager): Promise<BenchReceiver> {
  const sink = await startRemote('sink')
  manager.defer(() => sink.end())
  return { sink, port: await sink.listen() }
}

/** The reference servers that can run here. For each other one the reason is printed. */
async function openReferences(manager: ProcessManager, say: Say): Promise<Bench['references']> {
  const key = generateDkimKey()
  const haraka = await openHarakas(manager, key, say).catch((error: unknown) => {
    say(`Without Haraka: ${errorText(error)}`)
    return null
  })
  const postfixProblem = missingForPostfix()
  if (postfixProblem !== null) say(`Without Postfix: ${postfixProblem}`)
  return [...(haraka === null ? [] : [haraka]), ...(postfixProblem === null ? [openPostfixes(manager, key)] : [])]
}

function collectViolations({
  e2e = [],
  smtp = [],
  references = [],
  submission,
  latency,
  backlog,
  depth,
  cores,
  api,
  tarpits,
  campaign,
  automations,
  tracking,
}: BenchResults): string[] {
  return [
    ...[...e2e, ...smtp, ...references].flatMap(({ runs }) => runs.flatMap((run) => run.violations)),
    ...[submission, latency, backlog, depth, cores, api, tarpits, campaign, automations, tracking].flatMap(
      (result) => result?.violations ?? [],
    ),
  ]
}

function errorText(error: unknown): string {
  if (error instanceof UserError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
