/**
 * Connected accounts in the outbound role, put together once: what an account signs in with, the relay through it, how much it is asked to
 * take, and the connection tests that others ask for.
 */
import { rootCertificates } from 'node:tls'
import { readAuthorities } from '#config/setting-file.ts'
import { ACCOUNT_LIMITS, loadOAuthProviders, type AccountLimits } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import { createLookup } from '#src/net/safe-dns-lookup.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { createOutgoing } from '#src/net/http-client.ts'
import type { Account } from '#src/providers/accounts.ts'
import { finishTest, readTestWord, takeTest } from '#src/providers/connection-tests.ts'
import { createAccounts, loadPassword, type Accounts } from '#src/providers/credentials.ts'
import { ACCOUNT_RECEIVER, accountAt } from '#src/providers/account-destination.ts'
import { keepAside, pauseAccount } from '#src/providers/pause-account.ts'
import { createTokens, type Tokens } from '#src/providers/tokens.ts'
import type { Receiver } from '#src/shaping/shaping-file.ts'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import { createBreaker } from './breaker.ts'
import { createRelay, type Relay } from './relay.ts'
import type { AccountOpening, FoundCredential } from './relay-connect.ts'
import { testConnection } from './connection-test.ts'

export interface ConnectedAccounts {
  readonly relay: Relay
  /** The account to send through, or what becomes of the message without. */
  find(id: string): Promise<Account | Outcome>
  /** How much the account at a destination is asked to take; never rejects. */
  receiver(destination: string): Promise<Receiver>
  /** A word on the channel of tests: makes the test, unless another process has it. */
  test(word: string): void
  stop(): Promise<void>
}

/** Asked again after so long, before RETRY_SCALE, should its end not be heard. */
const PAUSED_MS = 60_000
const MINUTE_MS = 60_000

/** @throws ConfigError for a wrong OAUTH_PROVIDERS_FILE. */
export function startAccounts(ctx: Context): ConnectedAccounts {
  const { config, clock } = ctx
  const outgoing = createOutgoing(config)
  const tokens = createTokens(ctx, { providers: loadOAuthProviders(config.oauthProvidersFile), outgoing })
  const accounts = createAccounts(ctx)
  const receivers = new WeakMap<AccountLimits, Receiver>()
  const ca =
    config.extraCaFile === null
      ? {}
      : { ca: [...rootCertificates, readAuthorities('EXTRA_CA_FILE', config.extraCaFile)].join('\n') }
  const opening: AccountOpening = {
    settings: {
      ehloName: config.serverName,
      tls: 'required',
      rejectUnauthorized: true,
      timeouts: chooseTimeouts({ dot: config.dotTimeoutSeconds * 1000 }),
      ...ca,
    },
    lookup: createLookup(config),
    allowed: config.allowPrivateTargets,
    credential: (account, refused) => credentialOf(ctx, tokens, account, refused),
  }
  const relay = createRelay({
    ...opening,
    breaker: createBreaker(() => clock.now(), config.retryScale),
    now: () => clock.now(),
    scale: config.retryScale,
    pause: (account, reason) => pause(ctx, accounts, account, reason),
  })
  return {
    relay,
    find: (id) => findReady(ctx, accounts, id),
    receiver: (destination) => receiverOf(accounts, receivers, destination),
    test: (word) => {
      const warn = (error: unknown): void => ctx.log.warn({ err: error }, 'a connection test failed by a fault of ours')
      runTest(ctx, opening, word).catch(warn)
    },
    stop: async () => {
      await relay.close()
      outgoing.close()
    },
  }
}

async function credentialOf(
  ctx: Context,
  tokens: Tokens,
  account: Account,
  refused: string | null,
): Promise<FoundCredential> {
  const { username } = account
  if (account.kind === 'oauth') {
    const found = await tokens.find(account, { refused })
    return found.kind === 'token'
      ? { kind: 'credential', credential: { kind: 'token', username, token: found.token } }
      : found
  }
  const password = await loadPassword(ctx, account)
  if (password === null) return { kind: 'later', reason: 'the account was changed or removed meanwhile' }
  return { kind: 'credential', credential: { kind: 'password', username, password } }
}

async function pause(ctx: Context, accounts: Accounts, account: Account, reason: string): Promise<void> {
  accounts.forget(account.id)
  const isPaused = await pauseAccount(ctx, account, reason)
  if (isPaused)
    ctx.log.warn({ account: account.id, workspace: account.workspaceId, reason }, 'a connected account is paused')
}

async function findReady(ctx: Context, accounts: Accounts, id: string): Promise<Account | Outcome> {
  const found = await accounts.find(id)
  if (found.kind === 'ready') return found.account
  if (found.kind === 'gone')
    return { kind: 'failed', reason: 'account-gone', detail: 'the connected account was removed' }
  await keepAside(ctx, id, found.reason)
  const untilMs = ctx.clock.now() + PAUSED_MS * ctx.config.retryScale
  return {
    kind: 'postponed',
    reason: 'account',
    detail: `the connected account ${found.account.name} is paused: ${found.reason}`,
    untilMs,
  }
}

async function receiverOf(
  accounts: Accounts,
  known: WeakMap<AccountLimits, Receiver>,
  destination: string,
): Promise<Receiver> {
  const found = await accounts.find(accountAt(destination) ?? '').catch(() => null)
  const limits = found === null || found.kind === 'gone' ? ACCOUNT_LIMITS : found.account.limits
  const receiver = known.get(limits) ?? receiverWith(limits)
  known.set(limits, receiver)
  return receiver
}

function receiverWith(limits: AccountLimits): Receiver {
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

async function runTest(ctx: Context, opening: AccountOpening, word: string): Promise<void> {
  const named = readTestWord(word)
  if (named === null || !(await takeTest(ctx, named))) return
  const account = await createAccounts(ctx).find(named.accountId)
  if (account.kind !== 'gone')
    await finishTest(ctx, named, await testConnection(opening, account.account, () => ctx.clock.now()))
}
