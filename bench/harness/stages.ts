/**
 * Which stage of a message costs how much: the CPU profiles of a run with `--profile`, by the file of the innermost
 * frame that belongs to a stage. Samples are taken at a fixed rate of the clock, so on a machine with other load a
 * stage that wakes other threads seems to cost more than it does. A profile that cannot be read is left out.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

/** The parts of a `.cpuprofile` that are read. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** Of one process, the share of each stage in the time in which its main thread was busy, the largest first. */
export interface ProcessStages {
  readonly process: string
  readonly shares: readonly (readonly [stage: string, share: number])[]
}

/** The first row that matches the file of a frame decides. */
const STAGES: readonly (readonly [stage: string, file: RegExp])[] = [
  ['text part', /\/src\/mail\/(?:html|text)-/],
  ['sign', /\/mta\/compose\/(?:sign|arc-seal)\.ts/],
  ['compose and hash', /\/src\/mime\/|\/mta\/compose\/|\/mta\/delivery\/message-builder|\/nodemailer\//],
  ['tracking', /\/src\/tracking\//],
  ['SMTP and TLS', /\/mta\/(?:smtp|transport|security|route|egress)\/|\/src\/mail\/reply/],
  ['record result', /\/mta\/delivery\/(?:result|journal)|\/src\/messages\/transition|\/src\/events\//],
  ['claim and schedule', /\/mta\/(?:scheduling|outbound|shaping)\/|\/src\/(?:queue|messages\/claim|shaping)/],
  ['SMTP in', /\/mta\/(?:submission|smtp-server|inbound)\/|\/smtp-server\//],
  ['store', /\/src\/messages\/|\/src\/submission\//],
  ['accept', /\/api\/|\/node_modules\/(?:koa|@koa|zod)/],
  ['PostgreSQL client', /\/node_modules\/pg|\/src\/stores\/(?!redis)/],
  ['Redis client', /\/node_modules\/ioredis|\/src\/stores\/redis/],
  ['authenticate', /\/src\/auth\//],
  ['start', /\/bin\//],
]
const IDLE = '(idle)'
const OWN_STAGES: ReadonlyMap<string, string> = new Map([
  ['(garbage collector)', 'garbage collection'],
  ['(program)', 'other native code'],
  [IDLE, IDLE],
])
const OTHER = 'other'

/** The stages of each process with profiles in `dir`. */
export function readStages(dir: string): ProcessStages[] {
  if (!existsSync(dir)) return []
  return readdirSync(dir).map((process) => {
    const profiles = readdirSync(join(dir, process)).flatMap((file) => readProfile(join(dir, process, file)) ?? [])
    return { process, shares: sharesOf(profiles) }
  })
}

function readProfile(file: string): CpuProfile | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as CpuProfile
  } catch {
    return null
  }
}

export function sharesOf(profiles: readonly CpuProfile[]): ProcessStages['shares'] {
  const times = new Map<string, number>()
  for (const profile of profiles) addTimes(times, profile)
  times.delete(IDLE)
  const busy = [...times.values()].reduce((sum, time) => sum + time, 0)
  return [...times].map(([stage, time]): [string, number] => [stage, time / busy]).toSorted((a, b) => b[1] - a[1])
}

function addTimes(times: Map<string, number>, { nodes, samples, timeDeltas }: CpuProfile): void {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id] as const)))
  const stages = new Map<number, string>()
  const stageOf = (id: number | undefined): string => {
    const node = id === undefined ? undefined : byId.get(id)
    if (node === undefined || id === undefined) return OTHER
    const known = stages.get(id) ?? ownStage(node) ?? stageOf(parents.get(id))
    stages.set(id, known)
    return known
  }
  samples.forEach((id, index) => {
    const stage = stageOf(id)
    times.set(stage, (times.get(stage) ?? 0) + (timeDeltas[index] ?? 0))
  })
}

/** Null: the caller decides. */
function ownStage({ callFrame: { functionName, url } }: ProfileNode): string | null {
  return OWN_STAGES.get(functionName) ?? STAGES.find(([, file]) => file.test(url))?.[0] ?? null
}
