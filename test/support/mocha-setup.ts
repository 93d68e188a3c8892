/** What every test file is run with. A property that fails says why, and not only for what. */
import { isDeepStrictEqual } from 'node:util'
import { config, use } from 'chai'
import chaiAsPromised from 'chai-as-promised'
import { configureGlobal, readConfigureGlobal } from 'fast-check'

configureGlobal({ ...readConfigureGlobal(), includeErrorInReport: true })

/**
 * Deep equality is isDeepStrictEqual of node:util. The one that chai brings is weaker: to it, an instance of a class equals a
 * plain object and a Buffer equals a Uint8Array, and it compares neither the class nor the cause of an error. A failure shows
 * its values in full.
 */
use(chaiAsPromised)
config.deepEqual = isDeepStrictEqual
config.truncateThreshold = 0

/** The types that chai brings require both values to have one type, and do not narrow the type of the actual value. */
declare global {
  namespace Chai {
    interface Assert {
      strictEqual<T>(actual: unknown, expected: T, message?: string): asserts actual is T
      deepEqual<T>(actual: unknown, expected: T, message?: string): asserts actual is T
      deepInclude(actual: unknown, expected: unknown, message?: string): void
    }
  }
}
