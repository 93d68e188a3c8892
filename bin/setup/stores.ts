/**
 * What `mailstead setup` checks of the stores that the settings name, so that a wrong password is found before the
 * first start: a role waits for its stores and says so in its log only. Stores that Mailstead brings are not checked.
 */
import { type DoctorFinding, type DoctorCheck } from '#src/doctor/check.ts'
import { withDatabaseAccess } from '#bin/doctor/database-access.ts'
import { REDIS } from '#src/doctor/redis.ts'
import { CONNECTIONS, POSTGRES } from '#src/doctor/stores.ts'
import type { Config } from '#config/load.ts'

export type StoreFinding = DoctorFinding & { readonly name: string }

export async function checkStores(config: Config): Promise<StoreFinding[]> {
  const { databaseUrl, redisUrl } = config
  const ofDatabase =
    databaseUrl === null
      ? []
      : await withDatabaseAccess(databaseUrl, (access) =>
          runAll([POSTGRES, CONNECTIONS], { config, redisUrl, ...access }),
        )
  const ofRedis = redisUrl === null ? [] : await runAll([REDIS], { config, redisUrl, db: null, databaseError: '' })
  return [...ofDatabase, ...ofRedis]
}

function runAll(checks: readonly DoctorCheck[], context: Parameters<DoctorCheck['run']>[0]): Promise<StoreFinding[]> {
  return Promise.all(checks.map(async (check) => ({ name: check.name, ...(await check.run(context)) })))
}
