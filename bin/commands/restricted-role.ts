/** Runs a process with some roles, with their settings, and with no more rights than they need. */
import { ensureReachableCode, openRoleRights } from '#bin/supervisor/privileges.ts'
import { attachStores, type StoreUrls } from '#bin/supervisor/stores.ts'
import { type Config, loadConfig } from '#config/load.ts'
import type { KeyRole } from '#src/crypto/purposes.ts'
import { runRole, type RoleService } from './role.ts'

/** What `start` gets. */
interface RoleStart {
  readonly config: Config & StoreUrls
  readonly stop: AbortSignal
  /** To be called when ports and files are open: gives up the rights of root (bin/supervisor/privileges.ts). */
  readonly onOpened: () => void
}

/** `name` is that of the process. Returns the exit code. */
export function runRoles(
  name: string,
  roles: readonly KeyRole[],
  start: (role: RoleStart) => Promise<RoleService>,
): Promise<number> {
  const settings = attachStores(loadConfig())
  ensureReachableCode(roles, settings)
  const { config, account, drop } = openRoleRights(roles, settings)
  return runRole(name, config, (stop) => start({ config, stop, onOpened: drop }), account)
}
