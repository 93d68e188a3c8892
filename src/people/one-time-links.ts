/** The addresses of links that work once. Their pages are in api/routes/one-time-pages.ts. */
import type { Config } from '#config/load.ts'

export const JOIN_PATH = '/join'
export const RESET_PATH = '/reset'
export const CONFIRM_EMAIL_PATH = '/confirm-email'
export const CONFIRM_FORWARD_PATH = '/confirm-forward'

type PublicAddress = Pick<Config, 'publicUrl'>

export function joinLink({ publicUrl }: PublicAddress, token: string): string {
  return `${publicUrl.replace(/\/+$/, '')}${JOIN_PATH}/${token}`
}

export function resetLink({ publicUrl }: PublicAddress, token: string): string {
  return `${publicUrl.replace(/\/+$/, '')}${RESET_PATH}/${token}`
}

export function confirmEmailLink({ publicUrl }: PublicAddress, token: string): string {
  return `${publicUrl.replace(/\/+$/, '')}${CONFIRM_EMAIL_PATH}/${token}`
}

export function confirmForwardLink({ publicUrl }: PublicAddress, token: string): string {
  return `${publicUrl.replace(/\/+$/, '')}${CONFIRM_FORWARD_PATH}/${token}`
}
