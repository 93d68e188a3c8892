/**
 * Instant mail to healthy sites while most of the queue cannot be delivered: some sites send one byte of their greeting
 * every five seconds (tarpits), others drop every connection, and bulk mail is queued for all of them. Measures the
 * latency of the instant mail, the sockets of the outbound process, and the connects to each dead site. The run ends
 * after a fixed time, because the queue cannot be drained. All servers are on loopback.
 */
import { readdirSync, readlinkSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { waitForArrivals, countViolations, peakMemory } from '#bench/harness/contender.ts'
import { readUsage } from '#bench/harness/cpu.ts'
import { latencies, type Latencies } from './latency.ts'

const INTERVAL_MS = 100
const BYTE_MS = 5000
const POLL_MS = 500
/** Wait after the start of the outbound process, until the tarpits hold as many connections as they can get. */
const SETTLE_MS = 15_000

export interface TarpitsResult {
  readonly tarpits: number
  readonly dead: number
  readonly queued: number
  readonly fromAccept: Latencies
  /** Maximum of open sockets of the outbound process. */
  readonly maxSockets: number
  readonly maxTarpitted: number
  /** Connects to one dead site in any minute, at most; and the mean over all dead sites and minutes. */
  readonly maxConnectsPerMinute: number
  readonly connectsPerMinute: number
  readonly mtaPeakMb: number
  readonly violations: readonly string[]
}

/** Tarpits and dead sites, with counts of their connections. */
interface UnresponsiveSites {
  readonly port: number
  readonly held: Set<Socket>
  maxHeld: number
  /** The times of connects to each dead site. */
  readonly connects: Map<string, number[]>
  stop(): Promise<void>
}

export async function runTarpits(bench: MailsteadBench): Promise<TarpitsResult> {
  const { mailstead, sizes, receiver } = bench
  const sites = await startUnresponsiveSites(sizes.tarpits, sizes.deadSites)
  const routes = {
    '*': receiver.port,
    ...Object.fromEntries(sitesOf(sizes).map(({ site, address }) => [site, `${address}:${sites.port}`])),
  }
  let watch: { stop(): number } | null = null
  try {
    await mailstead.start(['api', 'worker'], routes)
    await fill(bench)
    bench.say(`  ${sizes.tarpitBacklog} bulk mails wait for ${sizes.tarpits} tarpits and ${sizes.deadSites} dead sites`)
    await mailstead.start(['mta'], routes)
    watch = watchSockets(mailstead.groups()['mta'] ?? 0)
    const startedAt = performance.now()
    await sleep(SETTLE_MS)
    const from = mailstead.reserve(sizes.tarpitProbes)
    await receiver.sink.begin({ from, count: sizes.tarpitProbes, hasNumberedBody: true })
    const probes = await mailstead.probe({ from, count: sizes.tarpitProbes, intervalMs: INTERVAL_MS })
    await waitForArrivals(receiver.sink, sizes.tarpitProbes)
    const { fromAccept } = latencies(probes, await receiver.sink.arrivals(), from)
    const minutes = (performance.now() - startedAt) / 60_000
    return {
      tarpits: sizes.tarpits,
      dead: sizes.deadSites,
      queued: sizes.tarpitBacklog,
      fromAccept,
      maxSockets: watch.stop(),
      maxTarpitted: sites.maxHeld,
      maxConnectsPerMinute: Math.max(0, ...[...sites.connects.values()].map(maxPerMinute)),
      connectsPerMinute:
        [...sites.connects.values()].reduce((sum, times) => sum + times.length, 0) /
        Math.max(1, sites.connects.size) /
        minutes,
      mtaPeakMb: peakMemory(readUsage(mailstead.groups()))['mta'] ?? 0,
      violations: countViolations({ count: sizes.tarpitProbes }, await receiver.sink.finish()).map(
        (violation) => `tarpits: ${violation}`,
      ),
    }
  } finally {
    watch?.stop()
    await sites.stop()
    await mailstead.stop('worker', 'mta', 'api')
  }
}

interface SiteAddress {
  readonly site: string
  readonly address: string
}

function sitesOf({ tarpits, deadSites }: { readonly tarpits: number; readonly deadSites: number }): SiteAddress[] {
  const addresses = (name: string, net: number, count: number): SiteAddress[] =>
    Array.from({ length: count }, (_, i) => ({ site: `${name}${i + 1}.example`, address: `127.0.${net}.${i + 1}` }))
  return [...addresses('tarpit', 2, tarpits), ...addresses('dead', 3, deadSites)]
}

async function fill({ mailstead, sizes }: MailsteadBench): Promise<void> {
  const sites = sitesOf(sizes)
  const each = Math.ceil(sizes.tarpitBacklog / sites.length)
  for (const { site } of sites) await mailstead.post('bulk', { from: mailstead.reserve(each), count: each, site })
}

async function startUnresponsiveSites(tarpits: number, deadSites: number): Promise<UnresponsiveSites> {
  const servers: Server[] = []
  const connects = new Map<string, number[]>()
  const sites: UnresponsiveSites = {
    port: 0,
    held: new Set(),
    maxHeld: 0,
    connects,
    stop: async () => {
      for (const socket of sites.held) socket.destroy()
      await Promise.all(servers.map((server) => once(server.close(), 'close')))
    },
  }
  let port = 0
  for (const { site, address } of sitesOf({ tarpits, deadSites })) {
    const server = createServer((socket) =>
      site.startsWith('dead') ? drop(connects, site, socket) : hold(sites, socket),
    )
    server.listen(port, address)
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
    servers.push(server)
  }
  return Object.assign(sites, { port })
}

function drop(connects: Map<string, number[]>, site: string, socket: Socket): void {
  socket.on('error', () => undefined)
  socket.destroy()
  connects.set(site, [...(connects.get(site) ?? []), performance.now()])
}

function hold(sites: UnresponsiveSites, socket: Socket): void {
  const greeting = '220-this takes a while\r\n'
  let sent = 0
  const timer = setInterval(() => socket.write(greeting.charAt(sent++ % greeting.length)), BYTE_MS)
  sites.held.add(socket)
  sites.maxHeld = Math.max(sites.maxHeld, sites.held.size)
  socket.on('error', () => undefined)
  socket.on('close', () => {
    clearInterval(timer)
    sites.held.delete(socket)
  })
}

function maxPerMinute(times: readonly number[]): number {
  return Math.max(0, ...times.map((begin) => times.filter((time) => time >= begin && time < begin + 60_000).length))
}

/** Polls the number of open sockets of a process; `stop` returns the maximum. */
function watchSockets(pid: number): { stop(): number } {
  let max = 0
  const poll = (): void => {
    max = Math.max(max, countSockets(pid))
  }
  const timer = setInterval(poll, POLL_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return max
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
