/** One refill with four workers, one of them late; the one that refills is killed midway if asked. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Redis } from 'ioredis'
import { cpuWaitMs, readUsage } from '#bench/harness/cpu.ts'
import type { ProcessManager } from '#bench/harness/process-manager.ts'
import type { BenchStores } from '#bench/harness/stores.ts'
import { dueKey, EPOCH_KEY, REFILL_KEY } from '#src/queue/keys.ts'

const WORKER = fileURLToPath(import.meta.resolve('./worker.ts'))
const WORKERS = 4
const MAX_SECONDS = 300
const POLL_MS = 20

export interface RefillOptions extends Pick<BenchStores, 'databaseUrl' | 'redisUrl' | 'groups'> {
  readonly redis: Redis
  /** The recipients to schedule. */
  readonly waiting: number
  readonly isKilled: boolean
}

export interface Refilled {
  readonly seconds: number
  readonly scheduled: number
  /** From the death of the worker to the next slice; null if none was killed. */
  readonly takeoverSeconds: number | null
  /** Seconds. Those of a killed worker count up to its death. */
  readonly cpu: CpuSeconds
}

interface CpuSeconds {
  readonly workers: number
  readonly postgres: number
  readonly redis: number
  /** All of them together were ready to run and had no CPU, because of other programs. */
  readonly waiting: number
}

export async function measureRefill(manager: ProcessManager, options: RefillOptions): Promise<Refilled> {
  const { redis, waiting, groups } = options
  const server = /run_id:(\w+)/.exec(await redis.info('server'))?.[1] ?? ''
  await redis.set(EPOCH_KEY, server)
  const { workers, filling } = startWorkers(manager, options)
  const [postgres = 0, redisServer = 0] = [groups['postgres'], groups['redis']]
  const readCpu = (): CpuSeconds => ({
    workers: sum(workers.map(({ pid = 0 }) => cpuSeconds(pid))),
    postgres: cpuSeconds(postgres),
    redis: cpuSeconds(redisServer),
    waiting: sum([...workers.map(({ pid = 0 }) => pid), postgres, redisServer].map(cpuWaitMs)) / 1000,
  })
  const scheduled = async (): Promise<number> => redis.zcard(dueKey('bulk'))
  try {
    await Promise.all(workers.map((child) => once(child, 'message')))
    const late = workers.at(-1)
    late?.kill('SIGSTOP')
    const before = readCpu()
    const began = performance.now()
    const waitUntil = async (isTrue: () => Promise<boolean>): Promise<void> => {
      while (!(await isTrue())) {
        if (performance.now() - began > MAX_SECONDS * 1000) throw new Error(`not filled within ${MAX_SECONDS} s`)
        await sleep(POLL_MS)
      }
    }
    await redis.flushall()
    let takeoverSeconds: number | null = null
    let lost = { cpu: 0, waiting: 0 }
    if (options.isKilled) {
      const count = async (): Promise<number> => Number(await redis.hget(REFILL_KEY, 'count'))
      await waitUntil(async () => (await count()) >= waiting / 2)
      const victim = filling()?.pid ?? 0
      lost = { cpu: cpuSeconds(victim), waiting: cpuWaitMs(victim) / 1000 }
      filling()?.kill('SIGKILL')
      const killedAt = performance.now()
      const saved = await count()
      late?.kill('SIGCONT')
      await waitUntil(async () => (await count()) > saved || (await redis.get(EPOCH_KEY)) === server)
      takeoverSeconds = (performance.now() - killedAt) / 1000
    }
    late?.kill('SIGCONT')
    await waitUntil(async () => (await redis.get(EPOCH_KEY)) === server)
    const seconds = (performance.now() - began) / 1000
    const after = readCpu()
    return {
      seconds,
      scheduled: await scheduled(),
      takeoverSeconds,
      cpu: {
        workers: after.workers + lost.cpu - before.workers,
        postgres: after.postgres - before.postgres,
        redis: after.redis - before.redis,
        waiting: after.waiting + lost.waiting - before.waiting,
      },
    }
  } finally {
    for (const child of workers) child.kill('SIGKILL')
  }
}

/** `filling` is the worker that reported a slice last. */
function startWorkers(
  manager: ProcessManager,
  { databaseUrl, redisUrl }: RefillOptions,
): { workers: readonly ChildProcess[]; filling: () => ChildProcess | null } {
  let filling: ChildProcess | null = null
  const env = { PATH: process.env['PATH'], DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, LOG_LEVEL: 'silent' }
  const workers = Array.from({ length: WORKERS }, () => {
    const child = spawn(process.execPath, [WORKER], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    manager.defer(async () => void child.kill('SIGKILL'))
    child.on('message', (message) => {
      if (message === 'slice') filling = child
    })
    return child
  })
  return { workers, filling: () => filling }
}

function cpuSeconds(pid: number): number {
  return (readUsage({ it: pid })['it']?.cpuMs ?? 0) / 1000
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
