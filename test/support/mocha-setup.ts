/** Set-up of every test file: chai, and fast-check, whose failure reports include the error of the failed property. */
import { isDeepStrictEqual } from 'node:util'
import { config, use } from 'chai'
import chaiAsPromised from 'chai-as-promised'
import { configureGlobal, readConfigureGlobal } from 'fast-check'

configureGlobal({ ...readConfigureGlobal(), includeErrorInReport: true })

/**
 * Deep equality is isDeepStrictEqual of node:util. Chai's own is weaker: it treats an instance of a class and a plain
 * object, or a Buffer and a Uint8Array, as equal, and compares neither the class nor the cause of an error. A failure
 * shows its values in full.
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
