/**
 * Connected accounts in the outbound role: builds the relay transport and its credentials, finds the account and limits
 * of a destination, and runs the connection tests that the API requests through Redis.
 */
import { rootCertificates } from 'node:tls'
import { readAuthorities } from '#config/setting-file.ts'
import { ACCOUNT_LIMITS, loadOAuthProviders, type AccountLimits } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import { createSafeLookup } from '#src/net/address-policy.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import type { Account } from '#src/providers/accounts.ts'
import { storeTestResult, parseTestRequest, claimTest } from '#src/providers/connection-tests.ts'
import { createAccountCache, loadPassword, type AccountCache } from '#src/providers/credentials.ts'
import { ACCOUNT_RECEIVER, accountIdOf } from '#src/providers/account-destination.ts'
import { suspendAccountMail, pauseAccount } from '#src/providers/pause-account.ts'
import { createAccessTokens, type AccessTokens } from '#src/providers/access-tokens.ts'
import type { ShapingReceiver } from '#src/shaping/shaping-file.ts'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { createRelayTransport, type RelayTransport } from './relay.ts'
import type { AccountSessionDeps, CredentialResult } from './relay-connect.ts'
import { testConnection } from './connection-test.ts'

export interface ConnectedAccounts {
  readonly relay: RelayTransport
  /** The account to send through, or the outcome of the message if the account cannot be used. */
  find(id: string): Promise<Account | Outcome>
  /** The limits of the account at a destination; never rejects. */
  receiver(destination: string): Promise<ShapingReceiver>
  /** Handles a message on the account-tests channel: runs the test unless another process claimed it. */
  handleTestRequest(request: string): void
  stop(): Promise<void>
}

/** Delay before a paused account is checked again, before RETRY_SCALE, in case its resume message is lost. */
const PAUSE_RECHECK_MS = 60_000
const MINUTE_MS = 60_000

/** @throws ConfigError for a wrong OAUTH_PROVIDERS_FILE. */
export function startConnectedAccounts(ctx: Context): ConnectedAccounts {
  const { config, clock } = ctx
  const outgoing = createHttpClient(config)
  const tokens = createAccessTokens(ctx, { providers: loadOAuthProviders(config.oauthProvidersFile), http: outgoing })
  const accounts = createAccountCache(ctx)
  const receivers = new WeakMap<AccountLimits, ShapingReceiver>()
  const ca =
    config.extraCaFile === null
      ? {}
      : { ca: [...rootCertificates, readAuthorities('EXTRA_CA_FILE', config.extraCaFile)].join('\n') }
  const deps: AccountSessionDeps = {
    settings: {
      ehloName: config.serverName,
      tls: 'required',
      rejectUnauthorized: true,
      timeouts: chooseTimeouts({ dot: config.dotTimeoutSeconds * 1000 }),
      ...ca,
    },
    lookup: createSafeLookup(config),
    allowed: config.allowPrivateTargets,
    credential: (account, refused) => credentialOf(ctx, tokens, account, refused),
  }
  const relay = createRelayTransport({
    ...deps,
    breaker: createCircuitBreaker(() => clock.now(), config.retryScale),
    now: () => clock.now(),
    scale: config.retryScale,
    pause: (account, reason) => pause(ctx, accounts, account, reason),
  })
  return {
    relay,
    find: (id) => findReady(ctx, accounts, id),
    receiver: (destination) => findReceiver(accounts, receivers, destination),
    handleTestRequest: (request) => {
      const warn = (error: unknown): void =>
        ctx.log.warn({ err: error }, 'connection test failed because of an internal error')
      runTest(ctx, deps, request).catch(warn)
    },
    stop: async () => {
      await relay.close()
      outgoing.close()
    },
  }
}

async function credentialOf(
  ctx: Context,
  tokens: AccessTokens,
  account: Account,
  refused: string | null,
): Promise<CredentialResult> {
  const { username } = account
  if (account.kind === 'oauth') {
    const found = await tokens.find(account, { refused })
    return found.kind === 'token'
      ? { kind: 'credential', credential: { kind: 'token', username, token: found.token } }
      : found
  }
  const password = await loadPassword(ctx, account)
  if (password === null) return { kind: 'later', reason: 'the connected account was changed or removed' }
  return { kind: 'credential', credential: { kind: 'password', username, password } }
}

async function pause(ctx: Context, accounts: AccountCache, account: Account, reason: string): Promise<void> {
  accounts.forget(account.id)
  const isPaused = await pauseAccount(ctx, account, reason)
  if (isPaused)
    ctx.log.warn({ account: account.id, workspace: account.workspaceId, reason }, 'paused a connected account')
}

async function findReady(ctx: Context, accounts: AccountCache, id: string): Promise<Account | Outcome> {
  const found = await accounts.find(id)
  if (found.kind === 'ready') return found.account
  if (found.kind === 'gone')
    return { kind: 'failed', reason: 'account-gone', detail: 'the connected account was removed' }
  await suspendAccountMail(ctx, id, found.reason)
  const untilMs = ctx.clock.now() + PAUSE_RECHECK_MS * ctx.config.retryScale
  return {
    kind: 'postponed',
    reason: 'account',
    detail: `the connected account ${found.account.name} is paused: ${found.reason}`,
    untilMs,
  }
}

async function findReceiver(
  accounts: AccountCache,
  known: WeakMap<AccountLimits, ShapingReceiver>,
  destination: string,
): Promise<ShapingReceiver> {
  const found = await accounts.find(accountIdOf(destination) ?? '').catch(() => null)
  const limits = found === null || found.kind === 'gone' ? ACCOUNT_LIMITS : found.account.limits
  const receiver = known.get(limits) ?? receiverWithLimits(limits)
  known.set(limits, receiver)
  return receiver
}

function receiverWithLimits(limits: AccountLimits): ShapingReceiver {
  return {
    name: ACCOUNT_RECEIVER,
    title: 'a connected account',
    mx: [],
    domains: [],
    isProviderWide: false,
    isForAllSources: false,
    connections: limits.connections,
    messagesPerConnection: limits.messagesPerConnection,
    messageRate: limits.messagesPerMinute === null ? null : { count: limits.messagesPerMinute, perMs: MINUTE_MS },
    connectionRate: null,
  }
}

async function runTest(ctx: Context, deps: AccountSessionDeps, request: string): Promise<void> {
  const test = parseTestRequest(request)
  if (test === null || !(await claimTest(ctx, test))) return
  const account = await createAccountCache(ctx).find(test.accountId)
  if (account.kind !== 'gone')
    await storeTestResult(ctx, test, await testConnection(deps, account.account, () => ctx.clock.now()))
}
