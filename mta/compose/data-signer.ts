/**
 * Signs octets with a DKIM key (RFC 6376 §3.7; with Ed25519 the hash of the octets, RFC 8463 §3).
 *
 * An RSA signature takes up to 1 ms, so other threads make signatures, in order. An urgent signature does not wait for
 * those that are queued there, nor until a busy event loop comes round for the result: the main thread makes it at
 * once. A bounded share of its time is for that; beyond it, urgent signatures are queued, too.
 */
import { hash, sign as signOctets } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { createSemaphore } from '#src/concurrency/semaphore.ts'
import { createTimeBudget, type TimeBudget } from '#src/concurrency/time-budget.ts'
import { type DkimKey, KeyObjects } from './key-objects.ts'

/** `isUrgent`: of a message that somebody waits for. Rejects when the key cannot be read; the error names it. */
export type DataSigner = (key: DkimKey, data: Buffer, isUrgent?: boolean) => Promise<Buffer>

/**
 * Concurrent signatures. The two threads take a new one only when the event loop has come round, so a few for each are
 * not enough: with 8, messages waited here while the cores were idle for a fifth of the time.
 */
const MAX_CONCURRENT = 32
/** 50 ms in a second, for 25 to 200 messages with an RSA key of 2048 bits. */
const URGENT = { share: 0.05, burstMs: 50 }

/** A signer with its own cache of at most `capacity` keys (an RSA key object needs about 5 KB). */
export function createDataSigner(capacity: number, urgentTime: TimeBudget = createTimeBudget(URGENT)): DataSigner {
  const keys = new KeyObjects(capacity)
  const limited = createSemaphore(MAX_CONCURRENT)
  let queued = 0

  async function signInThread(key: DkimKey, data: Buffer): Promise<Buffer> {
    queued++
    try {
      return await limited(() => keys.use(key, (object) => signOffThread(key, data, object)))
    } finally {
      queued--
    }
  }

  return (key, data, isUrgent = false) =>
    isUrgent && queued > 0 && urgentTime.isLeft
      ? keys.use(key, (object) => urgentTime.spend(() => signOctets(...inputOf(key, data), object)))
      : signInThread(key, data)
}

/** RSA hashes the octets itself; with Ed25519 their hash is the signed message. */
function inputOf({ algorithm }: DkimKey, data: Buffer): [algorithm: string | null, data: Buffer] {
  return algorithm === 'rsa-sha256' ? ['sha256', data] : [null, hash('sha256', data, 'buffer')]
}

/** Not `promisify`: what its callback refers to, here also the data, stays in memory too long (docs/decisions/125). */
function signOffThread(key: DkimKey, data: Buffer, object: KeyObject): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const done = (error: Error | null, signature: Buffer): void => (error === null ? resolve(signature) : reject(error))
  signOctets(...inputOf(key, data), object, done)
  return promise
}
