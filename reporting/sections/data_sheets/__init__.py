"""What follows from data sheets: the table of boards, and measured energy over naive estimates."""
