/**
 * Mails the links by which the owner of an address confirms that an inbound route may forward to it. The hash of a link
 * is stored before the mail; if the worker dies in between, a new link is mailed five minutes later.
 */
import type { Context } from '#src/context.ts'
import { claimConfirmations, markMailed, storeLink } from '#src/inbound-mail/forward-addresses.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { buildLinkMail } from '#src/people/link-mail.ts'
import { confirmForwardLink } from '#src/people/one-time-links.ts'
import { hashSecretToken, newSecretToken } from '#src/people/secret-token.ts'
import type { Round } from './loop.ts'

const BATCH = 20

export function createForwardConfirmationRound(ctx: Context): Round {
  const acceptor = createAcceptor(ctx)
  return async () => {
    const due = await claimConfirmations(ctx.db, BATCH)
    for (const one of due) {
      const token = newSecretToken()
      const tokenHash = hashSecretToken(token)
      if (tokenHash === null) continue
      await storeLink(ctx.db, one, tokenHash)
      const { address, routeAddress, domain } = one
      const mail = buildLinkMail(ctx, one, {
        email: address,
        fromName: domain,
        subject: `Confirm that mail of ${domain} is forwarded to you`,
        tag: 'forward-confirmation',
        intro: `${domain} wants to forward mail for ${routeAddress} to ${address}.`,
        link: { lead: 'To agree, open this address:', label: 'Agree', url: confirmForwardLink(ctx.config, token) },
        footer: 'The link is valid for 7 days. Nothing is forwarded without it. If you do not want this, do nothing.',
      })
      await acceptor.accept(mail)
      await markMailed(ctx.db, one)
    }
    return due.length === BATCH
  }
}
