/** What changes when a login method is added or removed. */
export const METHODS = ['/auth/login-methods', '/auth/me', '/auth/sessions'] as const
