/**
 * Instant mail to healthy sites while most of the queue goes nowhere: sites that send one byte of their greeting every five seconds, sites
 * that drop every connection, and bulk mail that waits for all of them. It lasts a bounded time, for nothing of it can be drained. Counted:
 * the latency of the instant mail, sockets of the outbound process, and connects to each dead site. All of it is on loopback.
 */
import { readdirSync, readlinkSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { arrive, countOffences, peaks } from '#bench/harness/contender.ts'
import { readUsage } from '#bench/harness/cpu.ts'
import { latencies, type Latencies } from './latency.ts'

const INTERVAL_MS = 100
const BYTE_MS = 5000
const LOOK_MS = 500
/** After the outbound process began, so that the tarpits hold all they can get. */
const SETTLE_MS = 15_000

export interface TarpitsResult {
  readonly tarpits: number
  readonly dead: number
  readonly queued: number
  readonly fromAccept: Latencies
  /** Connections that the outbound process had open at most, to whomever. */
  readonly mostSockets: number
  readonly mostTarpitted: number
  /** To the dead site that was tried most, in any minute; and in all minutes and sites the mean. */
  readonly mostConnectsAMinute: number
  readonly connectsAMinute: number
  readonly mtaPeakMb: number
  readonly offences: readonly string[]
}

/** Servers that never help, and what they saw. */
interface Swamp {
  readonly port: number
  readonly held: Set<Socket>
  mostHeld: number
  /** When each dead site was connected to. */
  readonly knocks: Map<string, number[]>
  stop(): Promise<void>
}

export async function runTarpits(bench: MailsteadBench): Promise<TarpitsResult> {
  const { mailstead, sizes, receiver } = bench
  const swamp = await openSwamp(sizes.tarpits, sizes.deadSites)
  const routes = {
    '*': receiver.port,
    ...Object.fromEntries(sitesOf(sizes).map(({ site, address }) => [site, `${address}:${swamp.port}`])),
  }
  let watch: { stop(): number } | null = null
  try {
    await mailstead.start(['api', 'worker'], routes)
    await fill(bench)
    bench.say(`  ${sizes.tarpitBacklog} bulk mails wait for ${sizes.tarpits} tarpits and ${sizes.deadSites} dead sites`)
    await mailstead.start(['mta'], routes)
    watch = watchSockets(mailstead.groups()['mta'] ?? 0)
    const beganAt = performance.now()
    await sleep(SETTLE_MS)
    const from = mailstead.reserve(sizes.tarpitProbes)
    await receiver.sink.begin({ from, count: sizes.tarpitProbes, isOwnLetter: true })
    const probes = await mailstead.probe({ from, count: sizes.tarpitProbes, intervalMs: INTERVAL_MS })
    await arrive(receiver.sink, sizes.tarpitProbes)
    const { fromAccept } = latencies(probes, await receiver.sink.arrivals(), from)
    const minutes = (performance.now() - beganAt) / 60_000
    return {
      tarpits: sizes.tarpits,
      dead: sizes.deadSites,
      queued: sizes.tarpitBacklog,
      fromAccept,
      mostSockets: watch.stop(),
      mostTarpitted: swamp.mostHeld,
      mostConnectsAMinute: Math.max(0, ...[...swamp.knocks.values()].map(mostInAMinute)),
      connectsAMinute:
        [...swamp.knocks.values()].reduce((sum, times) => sum + times.length, 0) /
        Math.max(1, swamp.knocks.size) /
        minutes,
      mtaPeakMb: peaks(readUsage(mailstead.groups()))['mta'] ?? 0,
      offences: countOffences({ count: sizes.tarpitProbes }, await receiver.sink.finish()).map(
        (offence) => `tarpits: ${offence}`,
      ),
    }
  } finally {
    watch?.stop()
    await swamp.stop()
    await mailstead.stop('worker', 'mta', 'api')
  }
}

interface Place {
  readonly site: string
  readonly address: string
}

function sitesOf({ tarpits, deadSites }: { readonly tarpits: number; readonly deadSites: number }): Place[] {
  const places = (name: string, net: number, count: number): Place[] =>
    Array.from({ length: count }, (_, i) => ({ site: `${name}${i + 1}.example`, address: `127.0.${net}.${i + 1}` }))
  return [...places('tarpit', 2, tarpits), ...places('dead', 3, deadSites)]
}

async function fill({ mailstead, sizes }: MailsteadBench): Promise<void> {
  const places = sitesOf(sizes)
  const each = Math.ceil(sizes.tarpitBacklog / places.length)
  for (const { site } of places) await mailstead.post('bulk', mailstead.reserve(each), each, site)
}

async function openSwamp(tarpits: number, deadSites: number): Promise<Swamp> {
  const servers: Server[] = []
  const knocks = new Map<string, number[]>()
  const swamp: Swamp = {
    port: 0,
    held: new Set(),
    mostHeld: 0,
    knocks,
    stop: async () => {
      for (const socket of swamp.held) socket.destroy()
      await Promise.all(servers.map((server) => once(server.close(), 'close')))
    },
  }
  let port = 0
  for (const { site, address } of sitesOf({ tarpits, deadSites })) {
    const server = createServer((socket) =>
      site.startsWith('dead') ? drop(knocks, site, socket) : hold(swamp, socket),
    )
    server.listen(port, address)
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
    servers.push(server)
  }
  return Object.assign(swamp, { port })
}

function drop(knocks: Map<string, number[]>, site: string, socket: Socket): void {
  socket.on('error', () => undefined)
  socket.destroy()
  knocks.set(site, [...(knocks.get(site) ?? []), performance.now()])
}

function hold(swamp: Swamp, socket: Socket): void {
  const greeting = '220-this takes a while\r\n'
  let sent = 0
  const timer = setInterval(() => socket.write(greeting.charAt(sent++ % greeting.length)), BYTE_MS)
  swamp.held.add(socket)
  swamp.mostHeld = Math.max(swamp.mostHeld, swamp.held.size)
  socket.on('error', () => undefined)
  socket.on('close', () => {
    clearInterval(timer)
    swamp.held.delete(socket)
  })
}

function mostInAMinute(times: readonly number[]): number {
  return Math.max(0, ...times.map((begin) => times.filter((time) => time >= begin && time < begin + 60_000).length))
}

/** The most sockets that a process had open. */
function watchSockets(pid: number): { stop(): number } {
  let most = 0
  const look = (): void => {
    most = Math.max(most, countSockets(pid))
  }
  const timer = setInterval(look, LOOK_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return most
    },
  }
}

function countSockets(pid: number): number {
  const dir = `/proc/${pid}/fd`
  try {
    return readdirSync(dir).filter((fd) => isSocket(`${dir}/${fd}`)).length
  } catch {
    return 0
  }
}

function isSocket(file: string): boolean {
  try {
    return readlinkSync(file).startsWith('socket:')
  } catch {
    return false
  }
}
