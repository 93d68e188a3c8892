"""Lines for settings.py; send_mail() then goes through Mailstead. The submission port of the server must be on."""
import os

EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_HOST = os.environ["MAILSTEAD_SMTP_HOST"]
EMAIL_PORT = int(os.environ.get("MAILSTEAD_SMTP_PORT", "587"))
EMAIL_USE_TLS = True  # STARTTLS; for port 465 set EMAIL_USE_SSL = True instead
EMAIL_HOST_USER = "mailstead"  # anything
EMAIL_HOST_PASSWORD = os.environ["MAILSTEAD_KEY"]
EMAIL_TIMEOUT = 30
DEFAULT_FROM_EMAIL = os.environ["MAILSTEAD_FROM"]
SERVER_EMAIL = DEFAULT_FROM_EMAIL
