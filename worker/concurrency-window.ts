/**
 * How many requests one endpoint gets at once. The window starts at one request and grows only while responses show
 * that the endpoint handles one more in time: an endpoint that handles one request after another would otherwise answer
 * the last of many after the time limit of the attempt, and get each of those twice.
 *
 * The response time of a lone request is the measure. It doubles the window each round trip at first and adds one a
 * round trip later, as TCP does; a timeout or a refusal halves the window. Pure: no clock and no I/O.
 */
import type { LoadSignal } from '#src/webhooks/attempt.ts'

export interface ConcurrencyWindow {
  /** The whole part is the number of requests. */
  readonly size: number
  /** The response time of a request without others; null until one is known. */
  readonly loneMs: number | null
  /** It grew without a limit so far. */
  readonly isStarting: boolean
}

export interface WindowBounds {
  readonly firstWindow: number
  readonly maxWindow: number
  /** The time limit of a request. */
  readonly timeoutMs: number
}

/** Responses up to this time never count as a sign of load: a new TLS connection alone may take a good part of it. */
const QUICK_MS = 1000
/** A response that takes this much longer than a lone one waited for others. */
const LOADED = 1.5
/** Of the time limit: what a request may take if one more waits before it. The rest is for jitter. */
const SAFE_SHARE = 0.7
/** Of the time limit: from here on, a response that waited for others shrinks the window. */
const LATE_SHARE = 0.5
const LATE_FACTOR = 0.75

export function firstWindow({ firstWindow: size }: WindowBounds): ConcurrencyWindow {
  return { size, loneMs: null, isStarting: true }
}

/** @param wasFull the request used the last place of the window: an unused place proves nothing */
export function nextWindow(
  window: ConcurrencyWindow,
  signal: LoadSignal,
  bounds: WindowBounds,
  wasFull: boolean,
): ConcurrencyWindow {
  if (signal.kind === 'neutral') return window
  if (signal.kind === 'overload') return shrunk(window, 0.5)
  const { durationMs } = signal
  const loneMs = window.size < 2 ? durationMs : Math.min(durationMs, window.loneMs ?? durationMs)
  const known = { ...window, loneMs }
  const isLoaded = durationMs > QUICK_MS && durationMs >= LOADED * loneMs
  if (isLoaded)
    return durationMs > LATE_SHARE * bounds.timeoutMs ? shrunk(known, LATE_FACTOR) : { ...known, isStarting: false }
  // one more request waits at most as long as a lone one takes
  if (!wasFull || durationMs + loneMs > SAFE_SHARE * bounds.timeoutMs) return known
  const growth = window.isStarting ? 1 : 1 / window.size
  return { ...known, size: Math.min(bounds.maxWindow, window.size + growth) }
}

function shrunk(window: ConcurrencyWindow, factor: number): ConcurrencyWindow {
  return { ...window, size: Math.max(1, window.size * factor), isStarting: false }
}
