/**
 * Private DKIM keys, read once and cached as key objects.
 *
 * OpenSSL signs under a lock of the key object, which the main thread also acquires when it starts a signature: with
 * one object all signatures wait for each other, and the event loop with them. So each concurrent signature has its own
 * object. Reading one costs a tenth of a signature and about 5 KB, so used objects stay for the next signatures with
 * the key, as long as all keys together have no more than MAX_SPARE.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'

export interface DkimKey {
  /** Unique for ever: the cache stores the key object under it. */
  readonly keyId: string
  /** The d= tag: lower case, A-labels. */
  readonly domain: string
  readonly selector: string
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256'
  /** PKCS#8 as DER or PEM, or a function that decrypts it, called only when the key is not cached. */
  readonly privateKey: string | Buffer | (() => string | Buffer)
}

/** Idle objects of all keys, beside one for each. */
const MAX_SPARE = 4000

/** The objects of one key. */
interface KeyRing {
  readonly idle: KeyObject[]
  readonly another: () => KeyObject
}

export class KeyObjects {
  readonly #rings = new Map<string, KeyRing>()
  readonly #maxKeys: number
  readonly #maxSpare: number
  #spare = 0

  /** @param maxKeys the least recently used key is evicted for a new one */
  constructor(maxKeys: number, maxSpare = MAX_SPARE) {
    this.#maxKeys = maxKeys
    this.#maxSpare = maxSpare
  }

  /** Idle objects beside one for each key. */
  get spare(): number {
    return this.#spare
  }

  /** Signs with an object that no other signature uses meanwhile. Rejects when the key cannot be read. */
  async use<T>(key: DkimKey, work: (object: KeyObject) => T | Promise<T>): Promise<T> {
    const ring = this.#ringOf(key)
    if (ring.idle.length > 1) this.#spare--
    const object = ring.idle.pop() ?? ring.another()
    try {
      return await work(object)
    } finally {
      this.#release(key, ring, object)
    }
  }

  #release({ keyId }: DkimKey, ring: KeyRing, object: KeyObject): void {
    if (this.#rings.get(keyId) !== ring) return // evicted meanwhile
    if (ring.idle.length > 0) {
      if (this.#spare >= this.#maxSpare) return
      this.#spare++
    }
    ring.idle.push(object)
  }

  #ringOf(key: DkimKey): KeyRing {
    const known = this.#rings.get(key.keyId)
    if (known !== undefined) this.#rings.delete(key.keyId)
    const ring = known ?? createRing(key)
    this.#rings.set(key.keyId, ring)
    if (this.#rings.size > this.#maxKeys) this.#evictOldest()
    return ring
  }

  #evictOldest(): void {
    for (const [keyId, { idle }] of this.#rings) {
      this.#rings.delete(keyId)
      this.#spare -= Math.max(0, idle.length - 1)
      return
    }
  }
}

function createRing(key: DkimKey): KeyRing {
  const first = readKey(key)
  const material = first.export({ type: 'pkcs8', format: 'der' })
  return {
    idle: [first],
    another: () => createPrivateKey({ key: material, format: 'der', type: 'pkcs8' }),
  }
}

function readKey({ keyId, selector, domain, algorithm, privateKey }: DkimKey): KeyObject {
  const name = `DKIM key ${keyId} (${selector}._domainkey.${domain})`
  const material = typeof privateKey === 'function' ? privateKey() : privateKey
  const isDer = typeof material !== 'string' && material[0] === 0x30 // an ASN.1 SEQUENCE, where PEM has a dash
  let key: KeyObject
  try {
    key = createPrivateKey(isDer ? { key: material, format: 'der', type: 'pkcs8' } : material)
  } catch (cause) {
    throw new Error(`${name} cannot be read`, { cause })
  }
  if (key.asymmetricKeyType !== algorithm.slice(0, algorithm.indexOf('-')))
    throw new Error(`${name} is not for ${algorithm}`)
  return key
}
