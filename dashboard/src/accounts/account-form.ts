/** What the form of an account sends: only what changed, because the server asks for the password with a new server. */
import type { Account, CreateAccountBody, UpdateAccountBody } from '#dashboard/src/api/endpoints.ts'

export interface AccountForm {
  readonly name: string
  readonly host: string
  readonly port: number | null
  readonly security: Account['security']
  readonly username: string
  readonly password: string
  readonly addresses: readonly string[]
  readonly connections: number | null
  readonly perConnection: number | null
  /** Null: no limit. */
  readonly perMinute: number | null
}

/** The port that belongs to a kind of encryption. */
export const USUAL_PORTS: Readonly<Record<Account['security'], number>> = { tls: 465, starttls: 587, none: 25 }

const NEW: AccountForm = {
  name: '',
  host: '',
  port: USUAL_PORTS.starttls,
  security: 'starttls',
  username: '',
  password: '',
  addresses: [],
  connections: 5,
  perConnection: 100,
  perMinute: 300,
}

export function formOf(account: Account | null): AccountForm {
  if (account === null) return NEW
  const { name, host, port, security, username, addresses, connections } = account
  const { messages_per_connection: perConnection, messages_per_minute: perMinute } = account
  return { name, host, port, security, username, password: '', addresses, connections, perConnection, perMinute }
}

export function toCreateBody(form: AccountForm): CreateAccountBody {
  return {
    host: form.host.trim(),
    port: form.port,
    security: form.security,
    username: form.username.trim(),
    password: form.password,
    ...(form.name.trim() === '' ? {} : { name: form.name.trim() }),
    ...(form.addresses.length === 0 ? {} : { from: form.addresses }),
    ...limitsOf(form),
  }
}

export function toUpdateBody(form: AccountForm, account: Account): UpdateAccountBody {
  const old = formOf(account)
  const isSame = (name: keyof AccountForm): boolean => JSON.stringify(form[name]) === JSON.stringify(old[name])
  return {
    ...(isSame('name') ? {} : { name: form.name.trim() }),
    ...(isSame('host') ? {} : { host: form.host.trim() }),
    ...(isSame('port') ? {} : { port: form.port }),
    ...(isSame('security') ? {} : { security: form.security }),
    ...(isSame('username') ? {} : { username: form.username.trim() }),
    ...(form.password === '' ? {} : { password: form.password }),
    ...(isSame('addresses') ? {} : { from: form.addresses }),
    ...limitsOf(form),
  }
}

function limitsOf({ connections, perConnection, perMinute }: AccountForm): UpdateAccountBody {
  return {
    ...(connections === null ? {} : { connections }),
    ...(perConnection === null ? {} : { messages_per_connection: perConnection }),
    messages_per_minute: perMinute,
  }
}
