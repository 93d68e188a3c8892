/**
 * Fetches files from URLs of customers into memory: attachments that a request names by URL.
 *
 * URLs are hostile input. They are fetched with the guarded client (`http-client.ts`), which never connects to private
 * addresses; each redirect is checked in the same way. All URLs of a request share one deadline, at most `maxUrls` are
 * different, and each is fetched once. Content counts while it arrives: towards the size of one file, and towards the
 * memory of all downloads, of which one workspace gets half. Every failure is a value, with a text that does not tell
 * whether a name exists in a private network.
 */
import type { Config } from '#config/load.ts'
import { createSemaphore } from '#src/concurrency/semaphore.ts'
import { createHttpClient, type HttpClient, type HttpFailure } from './http-client.ts'
import { countText } from '#src/platform/plural.ts'

export interface FileDownloads {
  /** The downloads of one request. */
  open(workspaceId: string): RequestDownloads
  stop(): void
}

export interface RequestDownloads {
  /** The file, from the first call with this URL. */
  fetch(url: string): Promise<DownloadResult>
  /** To be called once, when the files are no longer needed. Cuts downloads that are still under way. */
  release(): void
}

export type DownloadResult = DownloadedFile | DownloadFailure

export interface DownloadedFile {
  readonly content: Buffer
  readonly contentType: string | null
  /** Where it was in the end, after redirects. */
  readonly url: string
}

export interface DownloadFailure {
  readonly failure: 'refused' | 'too-large' | 'no-memory'
  /** To be shown to the customer. */
  readonly reason: string
}

export const DOWNLOAD_LIMITS = {
  /** For all URLs of a request. */
  timeoutMs: 10_000,
  maxUrls: 20,
  atOnce: 4,
  maxRedirects: 3,
  /** Of all requests together. */
  memoryBytes: 256 * 1024 * 1024,
}

type DownloadLimits = typeof DOWNLOAD_LIMITS
type DownloadSettings = Parameters<typeof createHttpClient>[0] & Pick<Config, 'maxMessageBytes'>

export function createFileDownloads(config: DownloadSettings, limits = DOWNLOAD_LIMITS): FileDownloads {
  const memory = createMemory(limits.memoryBytes, Math.max(limits.memoryBytes / 2, config.maxMessageBytes))
  let http: HttpClient | null = null
  return {
    open: (workspaceId) => {
      let held = 0
      let isReleased = false
      const mayKeep = (bytes: number): boolean => {
        if (isReleased || !memory.reserve(workspaceId, bytes)) return false
        held += bytes
        return true
      }
      http ??= createHttpClient(config)
      return {
        fetch: createFetcher({ http, mayKeep, maxBytes: config.maxMessageBytes, limits }),
        release: () => {
          isReleased = true
          memory.release(workspaceId, held)
          held = 0
        },
      }
    },
    stop: () => http?.close(),
  }
}

interface DownloadMemory {
  /** False if there is no room. */
  reserve(workspaceId: string, bytes: number): boolean
  release(workspaceId: string, bytes: number): void
}

function createMemory(max: number, maxPerWorkspace: number): DownloadMemory {
  const inUse = new Map<string, number>()
  let total = 0

  const add = (workspaceId: string, bytes: number): void => {
    const own = (inUse.get(workspaceId) ?? 0) + bytes
    total += bytes
    if (own > 0) inUse.set(workspaceId, own)
    else inUse.delete(workspaceId)
  }
  return {
    reserve: (workspaceId, bytes) => {
      if ((inUse.get(workspaceId) ?? 0) + bytes > maxPerWorkspace || total + bytes > max) return false
      add(workspaceId, bytes)
      return true
    },
    release: (workspaceId, bytes) => add(workspaceId, -bytes),
  }
}

interface FetcherOptions {
  readonly http: HttpClient
  /** Counts bytes that are kept in memory; false if there is no room. */
  readonly mayKeep: (bytes: number) => boolean
  readonly maxBytes: number
  readonly limits: DownloadLimits
}

function createFetcher(options: FetcherOptions): RequestDownloads['fetch'] {
  const { limits } = options
  const started = new Map<string, Promise<DownloadResult>>()
  const inTurn = createSemaphore(limits.atOnce)
  let deadline: number | null = null

  return (url) => {
    const known = started.get(url)
    if (known !== undefined) return known
    if (started.size >= limits.maxUrls)
      return Promise.resolve(failed(`is one too many: at most ${limits.maxUrls} different URLs in one request`))
    const endsAt = (deadline ??= performance.now() + limits.timeoutMs)
    const downloading = inTurn(() => download(options, url, endsAt))
    started.set(url, downloading)
    return downloading
  }
}

const HEADERS = { 'User-Agent': 'Mailstead', Accept: '*/*', 'Accept-Encoding': 'identity' }
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]
const NO_MEMORY: DownloadFailure = {
  failure: 'no-memory',
  reason: 'Too many files are being fetched at the same time. Try again.',
}

async function download(options: FetcherOptions, first: string, deadline: number): Promise<DownloadResult> {
  const { http, mayKeep, maxBytes, limits } = options
  let url = first
  for (let hop = 0; hop <= limits.maxRedirects; hop++) {
    const timeoutMs = Math.ceil(deadline - performance.now())
    if (timeoutMs <= 0) return failed(tooSlow(limits))
    let hasMemory = true
    const got = await http.get(url, {
      headers: HEADERS,
      timeoutMs,
      maxBytes,
      mayKeep: (bytes) => (hasMemory &&= mayKeep(bytes)),
    })
    if (!got.ok) return failed(got.reason === 'timeout' ? tooSlow(limits) : REASONS[got.reason])
    if (!hasMemory) return NO_MEMORY
    if (!REDIRECTS.includes(got.status))
      return fileOf(got, { url, maxBytes, whenCut: got.isTimedOut ? tooSlow(limits) : REASONS.broken })
    const next = redirectOf(url, got.location)
    if (next === null) return failed('redirects to where it cannot be fetched from')
    url = next
  }
  return failed(`redirects more than ${countText(limits.maxRedirects, 'time')}`)
}

type Received = Extract<Awaited<ReturnType<HttpClient['get']>>, { ok: true }>

function fileOf(
  { status, bytes, isComplete, contentType, contentEncoding }: Received,
  { url, maxBytes, whenCut }: { readonly url: string; readonly maxBytes: number; readonly whenCut: string },
): DownloadResult {
  if (status !== 200) return failed(`cannot be fetched: its server answered ${status}, not 200`)
  if (contentEncoding !== null && contentEncoding !== 'identity')
    return failed('cannot be fetched: its server sends it compressed only')
  if (isComplete) return { content: bytes, contentType, url }
  if (bytes.length >= maxBytes)
    return { failure: 'too-large', reason: `the file has more than ${maxBytes} bytes, the limit of a message` }
  return failed(whenCut)
}

/** The target of a redirect. A redirect from https to http is not followed. */
function redirectOf(url: string, location: string | null): string | null {
  const next = location === null ? null : URL.parse(location, url)
  return next === null || (url.startsWith('https:') && next.protocol !== 'https:') ? null : next.href
}

function failed(reason: string): DownloadFailure {
  return { failure: 'refused', reason }
}

function tooSlow({ timeoutMs }: DownloadLimits): string {
  return `was not fetched within ${timeoutMs / 1000} s, the time for all URLs of a request`
}

/** One text for names that do not exist and addresses that are not allowed: nobody may explore a private network. */
const NOT_FOUND = 'cannot be fetched: its host was not found, or is not allowed'
const REASONS: Readonly<Record<Exclude<HttpFailure, 'timeout'>, string>> = {
  'bad-url': 'must be an http or https URL without user name and password',
  forbidden: NOT_FOUND,
  name: NOT_FOUND,
  connect: 'cannot be fetched: its server accepts no connection',
  tls: 'cannot be fetched: its server has no valid TLS certificate',
  broken: 'cannot be fetched: its server closed the connection before the end of the file',
}
