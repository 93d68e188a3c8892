/**
 * Whether this program was installed from a package, an image for example. A package has its own Node in `runtime/`
 * and contains neither PostgreSQL nor Redis (packaging/production.mjs).
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { UserError } from './user-error.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** True in a package, false in a checkout. */
export function isPackage(root: string = ROOT): boolean {
  return existsSync(join(root, 'runtime/node'))
}

/** @throws UserError in a package if the URL of a store is not set. */
export function requireStoreUrls(
  urls: { readonly databaseUrl: string | null; readonly redisUrl: string | null },
  inPackage: boolean = isPackage(),
): void {
  if (!inPackage) return
  const missing = [
    ...(urls.databaseUrl === null ? ['DATABASE_URL'] : []),
    ...(urls.redisUrl === null ? ['REDIS_URL'] : []),
  ]
  if (missing.length > 0)
    throw new UserError(
      `${missing.join(' and ')} must be set: this package contains neither PostgreSQL nor Redis.`,
      'See docs/guides/installing.md; compose.yaml runs both.',
    )
}
